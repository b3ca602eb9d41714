package markdown

import (
	"slices"
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

// maxDepth is the depth to which quotes and lists are laid out. Deeper ones are shown as source
// text.
const maxDepth = 12

// minWidth is the minimum width in cells of wrapped text. If indentation leaves less, it is
// dropped.
const minWidth = 8

// newParser returns a parser for the syntax in the package comment. Parsers have state, so each
// text needs its own.
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

// Part lays out one part of a [Stream], or the beginning of one.
func Part(part string, width int) []ink.Line {
	source := []byte(strings.ReplaceAll(part, "\x00", "\ufffd"))
	l := layout{source: source}
	return l.blocks(newParser().Parse(text.NewReader(source)), max(width, 1), 0, false)
}

type layout struct {
	source []byte
}

// blocks lays out the blocks in a node, separated by empty lines.
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

// inside lays out the blocks in a node after a prefix.
func (l *layout) inside(n ast.Node, first, others ink.Line, width, depth int, tight bool) []ink.Line {
	room := width - first.Width()
	if depth >= maxDepth || room < minWidth {
		return ink.Wrap(ink.Line{ink.T(ink.Quote, strings.TrimSpace(l.raw(n)))}, width)
	}
	return ink.Indent(l.blocks(n, room, depth+1, tight), first, others)
}

// raw returns the source text of all lines in a node.
func (l *layout) raw(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			b.Write(n.Lines().Value(l.source))
		}
		return ast.WalkContinue, nil // so Walk returns nil
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

// code lays out a block of code: its language, then its lines. Only lines that are too long are
// broken.
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

// inline appends the text in a node to dst.
func (l *layout) inline(dst ink.Line, parent ast.Node, style ink.Style) ink.Line {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		dst = l.span(dst, n, style)
	}
	return dst
}

func (l *layout) span(dst ink.Line, n ast.Node, style ink.Style) ink.Line {
	switch n := n.(type) {
	case *ast.Text:
		dst = append(dst, styled(l.plain(n), style))
		switch {
		case n.HardLineBreak():
			dst = append(dst, ink.Span{Text: "\n"})
		case n.SoftLineBreak():
			dst = append(dst, styled(" ", style))
		}
		return dst
	case *ast.String:
		return append(dst, styled(string(n.Value), style))
	case *ast.CodeSpan:
		return append(dst, l.codeSpan(n, style))
	case *ast.Emphasis:
		if n.Level == 1 {
			style.Attr |= ink.Italic
		} else {
			style.Attr |= ink.Bold
		}
	case *extast.Strikethrough:
		style.Attr |= ink.Strike
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return append(dst, ink.T(ink.Good, "☑ "))
		}
		return append(dst, ink.T(ink.Muted, "☐ "))
	case *ast.Link:
		return l.link(dst, n, string(n.Destination), "", style)
	case *ast.Image:
		return l.link(dst, n, string(n.Destination), "image: ", style)
	case *ast.AutoLink:
		style.Role = ink.Link
		return append(dst, styled(string(n.URL(l.source)), style))
	}
	return l.inline(dst, n, style)
}

// link appends a link: its text, then its address if that differs.
func (l *layout) link(dst ink.Line, n ast.Node, target, prefix string, style ink.Style) ink.Line {
	style.Role = ink.Link
	style.Attr |= ink.Underline
	label := l.inline(nil, n, style)
	target = unescape(target)
	switch said := label.String(); {
	case target == "" || said == target:
		return append(dst, label...)
	case said == "":
		return append(dst, styled(prefix+target, style))
	}
	if prefix != "" {
		dst = append(dst, ink.T(ink.Muted, prefix))
	}
	return append(append(dst, label...), ink.T(ink.Muted, " ("+target+")"))
}

// codeSpan returns inline code unchanged, on one line.
func (l *layout) codeSpan(n *ast.CodeSpan, style ink.Style) ink.Span {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(l.source))
		}
	}
	style.Role = ink.Code
	return styled(strings.ReplaceAll(b.String(), "\n", " "), style)
}

// plain returns a text without its escapes.
func (l *layout) plain(n *ast.Text) string {
	value := n.Segment.Value(l.source)
	if n.IsRaw() {
		return string(value)
	}
	return unescape(string(value))
}

func unescape(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	b := util.UnescapePunctuations([]byte(text))
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(b)))
}

// styled returns cleaned text on one line.
func styled(text string, style ink.Style) ink.Span {
	s := ink.T(style.Role, strings.ReplaceAll(text, "\n", " "))
	s.Style.Attr = style.Attr
	return s
}

// minColumn is the minimum width of a table's column. If the columns do not all fit, each row is
// shown as a list.
const minColumn = 5

// between separates two columns.
const between = " │ "

// table lays out a table as wide as its texts, at most width. Long cells are wrapped.
func (l *layout) table(table *extast.Table, width int) []ink.Line {
	var rows [][]ink.Line
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []ink.Line
		_, isHeader := row.(*extast.TableHeader)
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, l.cell(cell, isHeader))
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil
	}
	widths, fits := columns(rows, width)
	if !fits {
		return records(rows, width)
	}
	var lines []ink.Line
	for i, row := range rows {
		lines = append(lines, tableRow(row, widths, table.Alignments)...)
		if i == 0 {
			lines = append(lines, rule(widths))
		}
	}
	return lines
}

func (l *layout) cell(n ast.Node, isHeader bool) ink.Line {
	var style ink.Style
	if isHeader {
		style.Attr = ink.Bold
	}
	return l.inline(nil, n, style)
}

// columns returns the widths of the columns. These are the widths of the texts, with the widest
// reduced if they do not fit.
func columns(rows [][]ink.Line, width int) ([]int, bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], cell.Width(), 1)
		}
	}
	room := width - (len(widths)-1)*ink.Width(between)
	if room < len(widths)*minColumn && room < sum(widths) {
		return nil, false
	}
	for sum(widths) > room {
		over := sum(widths) - room
		sorted := slices.Sorted(slices.Values(widths))
		most := sorted[len(sorted)-1]
		next := minColumn
		for _, w := range slices.Backward(sorted) {
			if w < most {
				next = max(next, w)
				break
			}
		}
		at := slices.Index(widths, most)
		widths[at] -= max(1, min(over, most-next))
	}
	return widths, true
}

func sum(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return n
}

func rule(widths []int) ink.Line {
	var parts []string
	for _, w := range widths {
		parts = append(parts, strings.Repeat("─", w))
	}
	return ink.Line{ink.T(ink.Muted, strings.Join(parts, "─┼─"))}
}

// tableRow returns the lines of one row, as many as its longest cell needs.
func tableRow(row []ink.Line, widths []int, alignments []extast.Alignment) []ink.Line {
	cells := make([][]ink.Line, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = ink.Wrap(row[i], widths[i])
		}
		height = max(height, len(cells[i]))
	}
	lines := make([]ink.Line, height)
	for y := range lines {
		var line ink.Line
		for i, w := range widths {
			if i > 0 {
				line = append(line, ink.T(ink.Muted, between))
			}
			var text ink.Line
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			alignment := extast.AlignNone
			if i < len(alignments) {
				alignment = alignments[i]
			}
			text = aligned(text, w, alignment)
			if i < len(widths)-1 {
				text = text.Pad(w)
			}
			line = append(line, text...)
		}
		lines[y] = line
	}
	return lines
}

func aligned(text ink.Line, width int, alignment extast.Alignment) ink.Line {
	missing := width - text.Width()
	switch alignment {
	case extast.AlignCenter:
		missing /= 2
	case extast.AlignRight:
	default:
		missing = 0
	}
	if missing <= 0 {
		return text
	}
	return append(ink.Line{ink.T(ink.Plain, strings.Repeat(" ", missing))}, text...)
}

// records returns each row as lines of "heading: text", for narrow screens.
func records(rows [][]ink.Line, width int) []ink.Line {
	if len(rows) == 1 {
		rows = append(rows, make([]ink.Line, len(rows[0])))
	}
	var lines []ink.Line
	for i, row := range rows[1:] {
		if i > 0 {
			lines = append(lines, ink.Line{ink.T(ink.Muted, strings.Repeat("─", min(width, 20)))})
		}
		for c, cell := range row[:min(len(row), len(rows[0]))] {
			line := append(slices.Clone(rows[0][c]), ink.T(ink.Muted, ": "))
			lines = append(lines, ink.Wrap(append(line, cell...), width)...)
		}
	}
	return lines
}
