package markdown

import (
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

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

// link shows a link: its text, then where it leads, if that is something else.
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

// codeSpan shows code as it stands, in one line.
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

// plain is a text without its escapes.
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

// styled is cleaned text on one line.
func styled(text string, style ink.Style) ink.Span {
	s := ink.T(style.Role, strings.ReplaceAll(text, "\n", " "))
	s.Style.Attr = style.Attr
	return s
}
