package markdown

import (
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDepth is how deep quotes and lists are laid out; what lies deeper is shown
// as it was written.
const maxDepth = 12

// minWidth is the narrowest column that text is wrapped to; indentation that
// leaves less is given up.
const minWidth = 8

// newParser is a parser for what the package comment lists. Parsers keep state
// while they read, so each text has its own.
func newParser() parser.Parser {
	var blocks, inlines []util.PrioritizedValue
	for i, b := range []parser.BlockParser{
		parser.NewSetextHeadingParser(), parser.NewThematicBreakParser(), parser.NewListParser(), parser.NewListItemParser(),
		parser.NewCodeBlockParser(), parser.NewATXHeadingParser(), parser.NewFencedCodeBlockParser(), parser.NewBlockquoteParser(),
		parser.NewParagraphParser(),
	} {
		blocks = append(blocks, util.Prioritized(b, i))
	}
	for i, p := range []parser.InlineParser{
		extension.NewTaskCheckBoxParser(), parser.NewCodeSpanParser(), parser.NewLinkParser(), parser.NewAutoLinkParser(),
		parser.NewEmphasisParser(), extension.NewStrikethroughParser(),
	} {
		inlines = append(inlines, util.Prioritized(p, i))
	}
	return parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 0)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
}

// Part shows one part of a [Stream], or what is there of it so far.
func Part(part string, width int) []ink.Line {
	source := []byte(strings.ReplaceAll(part, "\x00", "\ufffd"))
	l := layout{source: source}
	return l.blocks(newParser().Parse(text.NewReader(source)), max(width, 1), 0, false)
}

type layout struct {
	source []byte
}

// blocks lays out the blocks in a node, with an empty line between two.
func (l *layout) blocks(parent ast.Node, width, depth int, tight bool) []ink.Line {
	var lines []ink.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		block := l.block(n, width, depth)
		if len(block) == 0 {
			continue
		}
		if len(lines) > 0 && !tight {
			lines = append(lines, nil)
		}
		lines = append(lines, block...)
	}
	return lines
}

func (l *layout) block(n ast.Node, width, depth int) []ink.Line {
	switch n := n.(type) {
	case *ast.Heading:
		style := ink.Style{Role: ink.Heading, Attr: ink.Bold}
		if n.Level == 1 {
			style.Attr |= ink.Underline
		}
		return ink.Wrap(l.inline(nil, n, style), width)
	case *ast.FencedCodeBlock:
		return l.code(n, string(n.Language(l.source)), width)
	case *ast.CodeBlock:
		return l.code(n, "", width)
	case *ast.ThematicBreak:
		return []ink.Line{{ink.T(ink.Muted, strings.Repeat("─", width))}}
	case *ast.Blockquote:
		bar := ink.Line{ink.T(ink.Muted, "│ ")}
		return l.inside(n, bar, bar, width, depth, false)
	case *ast.List:
		return l.list(n, width, depth)
	case *extast.Table:
		return l.table(n, width)
	}
	return ink.Wrap(l.inline(nil, n, ink.Style{}), width)
}

// inside lays out the blocks in a node behind a prefix.
func (l *layout) inside(n ast.Node, first, others ink.Line, width, depth int, tight bool) []ink.Line {
	room := width - first.Width()
	if depth >= maxDepth || room < minWidth {
		return ink.Wrap(ink.Line{ink.T(ink.Quote, strings.TrimSpace(l.raw(n)))}, width)
	}
	return ink.Indent(l.blocks(n, room, depth+1, tight), first, others)
}

// raw is the text of all lines in a node, as it was written.
func (l *layout) raw(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			b.Write(n.Lines().Value(l.source))
		}
		return ast.WalkContinue, nil // so the error is always nil
	})
	return b.String()
}

func (l *layout) list(list *ast.List, width, depth int) []ink.Line {
	var lines []ink.Line
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := []string{"• ", "◦ ", "▪ "}[min(depth/2, 2)]
		if list.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
		}
		number++
		first := ink.Line{ink.T(ink.Accent, mark)}
		others := ink.Line{ink.T(ink.Plain, strings.Repeat(" ", first.Width()))}
		block := l.inside(item, first, others, width, depth+1, list.IsTight)
		if len(block) == 0 {
			block = []ink.Line{first}
		}
		if len(lines) > 0 && !list.IsTight {
			lines = append(lines, nil)
		}
		lines = append(lines, block...)
	}
	return lines
}

// code shows a block of code: its language, then its lines, unwrapped but for
// those that are too long.
func (l *layout) code(n ast.Node, language string, width int) []ink.Line {
	var lines []ink.Line
	if language != "" {
		lines = append(lines, ink.Line{ink.T(ink.Muted, "┌ "+language)}.Cut(width))
	}
	margin := ink.Line{ink.T(ink.Plain, "  ")}
	if width < minWidth {
		margin = nil
	}
	code := strings.TrimRight(string(n.Lines().Value(l.source)), "\r\n")
	code = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(code)
	for _, line := range Highlighted(language, code) {
		parts := ink.Chop(line, width-margin.Width())
		lines = append(lines, ink.Indent(parts, margin, margin)...)
	}
	return lines
}
