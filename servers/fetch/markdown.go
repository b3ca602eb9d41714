package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// Limits of the conversion. Neither the parser nor the converter can be interrupted, and both can
// multiply their input. A parser reopens formatting elements in each paragraph. The converter
// repeats a list's indentation in each line, and pads a table to its longest row.
const (
	maxTags       = 250_000  // tags in a page
	maxFormatting = 8        // formatting elements open at once
	maxColumns    = 1000     // columns of a table, and columns or rows that a cell spans
	maxCells      = 100_000  // cells of a table, including those that spans and short rows add
	maxMarkdown   = 16 << 20 // estimated bytes of the Markdown
)

// A pages converts HTML pages to Markdown, one at a time.
type pages struct {
	converter *converter.Converter
	turn      chan struct{} // holds a token while a page is converted
}

func newPages() pages {
	return pages{
		converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)))),
		make(chan struct{}, 1),
	}
}

// markdown converts a page to Markdown. Relative links become absolute, based on at.
func (p pages) markdown(ctx context.Context, page io.Reader, at *url.URL) (string, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	plain, err := simplify(page)
	if err != nil {
		return "", err
	}
	doc, err := html.Parse(bytes.NewReader(plain))
	if err != nil {
		return "", err
	}
	site := at.Scheme + "://" + at.Host
	m := measure{site: len(site)}
	m.walk(doc)
	if m.size > maxMarkdown {
		return "", fmt.Errorf("it has more than %d MiB of Markdown", maxMarkdown>>20)
	}
	markdown, err := p.converter.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(site))
	return string(markdown), err
}

// formatting lists the elements that a parser reopens after the end of their paragraph.
var formatting = []string{"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}

// simplify returns a page without the parts that Markdown cannot express: scripts, styles,
// comments, embedded pictures, and deeply nested formatting. It counts every tag that a parser
// would find.
func simplify(page io.Reader) ([]byte, error) {
	var out bytes.Buffer
	var open []string // open formatting elements
	tags, raw := 0, ""
	z := html.NewTokenizer(page)
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return out.Bytes(), nil
		}
		text := z.Raw()
		switch kind {
		case html.TextToken:
			switch raw {
			case "title", "textarea", "xmp", "plaintext":
				text = bytes.ReplaceAll(text, []byte("<"), []byte("&lt;"))
				out.Write(text)
			case "":
				out.Write(text)
			}
		case html.DoctypeToken:
			out.Write(text)
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			if tags++; tags > maxTags {
				return nil, fmt.Errorf("it has more than %d tags", maxTags)
			}
			n, _ := z.TagName()
			name := string(n)
			raw = ""
			switch name {
			case "script", "style", "noscript", "iframe", "noembed", "noframes", "xmp", "plaintext":
				if kind == html.StartTagToken {
					raw = name
				}
				continue
			case "svg", "math":
				continue
			case "title", "textarea":
				if kind == html.StartTagToken {
					raw = name
				}
			}
			if slices.Contains(formatting, name) {
				if at := slices.Index(open, name); kind == html.EndTagToken && at >= 0 {
					open = slices.Delete(open, at, at+1)
				} else if kind != html.EndTagToken {
					if len(open) >= maxFormatting {
						continue
					}
					open = append(open, name)
				}
			}
			out.Write(text)
		}
	}
}

// A measure computes an upper limit for the size of a document's Markdown, and limits its tables.
type measure struct {
	site   int // number of bytes added to a relative link
	size   int
	indent int // number of bytes at the start of each line
	table  *tableSize
}

// A tableSize measures a table row by row.
type tableSize struct{ rows, columns, widest, spanned, longest int }

func (m *measure) walk(n *html.Node) {
	indent, outer := m.indent, m.table
	switch n.Type {
	case html.TextNode:
		m.size += len(n.Data) + m.indent*(1+bytes.Count([]byte(n.Data), []byte("\n")))
	case html.ElementNode:
		m.size += 8 + 2*m.indent
		switch n.Data {
		case "blockquote", "ul":
			m.indent += 4
		case "ol":
			m.indent += 24 // maximum width of the item numbers
		case "a", "img":
			m.size += m.site
			for _, a := range n.Attr {
				m.size += len(a.Val)
			}
		case "table":
			m.table = &tableSize{}
		case "tr":
			if m.table != nil {
				m.table.rows++
				m.table.columns = 0
			}
		case "td", "th":
			if m.table != nil {
				t, columns, rows := m.table, span(n, "colspan"), span(n, "rowspan")
				t.columns += columns
				t.widest, t.longest = max(t.widest, t.columns), max(t.longest, rows)
				t.spanned += columns * rows
			}
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "}) // separates cells if the converter writes only their text
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.walk(c)
	}
	if n.Type == html.ElementNode && n.Data == "table" {
		t := m.table
		if cells := (t.rows + t.longest) * t.widest; max(cells, t.spanned) > maxCells || t.widest > maxColumns {
			n.Attr = []html.Attribute{{Key: "role", Val: "presentation"}} // the converter then writes only the text of cells
		} else {
			m.size += 4 * cells
		}
	}
	m.indent, m.table = indent, outer
}

// span returns the number of columns or rows that a cell spans. Like browsers, it limits the
// attribute.
func span(n *html.Node, name string) int {
	for i, a := range n.Attr {
		if a.Key == name {
			count, err := strconv.Atoi(a.Val)
			if count > maxColumns || errors.Is(err, strconv.ErrRange) {
				count = maxColumns
				n.Attr[i].Val = strconv.Itoa(maxColumns)
			}
			return max(count, 1)
		}
	}
	return 1
}
