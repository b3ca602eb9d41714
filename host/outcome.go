package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// An outcome is what the model gets of a call.
type outcome struct {
	parts   []model.Part
	whole   string // all of the text, of which the model may see a page at a time
	isError bool
	bytes   int
	kept    string // URI of the whole text, where the model sees only a part
	media   []model.Media
}

// outcome makes what the model reads of a result: texts without what a person
// could not see, images as they are, and of long texts the first page.
func (r *run) outcome(t *tool, result *mcp.CallToolResult) outcome {
	got := gathered(result)
	got.bytes += len(got.whole)
	shown := r.paged(&got, got.whole, t.ref)
	if shown == "" && len(got.parts) == 0 {
		shown = "(no content)"
	}
	if shown != "" {
		got.parts = append([]model.Part{{Text: shown}}, got.parts...)
	}
	return got
}

// gathered is what a result holds: its whole text, and as parts the images.
func gathered(result *mcp.CallToolResult) outcome {
	got := outcome{isError: result.IsError}
	var text strings.Builder
	for i := range result.Content {
		got.take(&text, &result.Content[i])
	}
	if s := string(plain(result.StructuredContent)); s != "" && !says(result.Content, result.StructuredContent) {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(s)
	}
	got.whole = readable(text.String())
	return got
}

// says reports whether one of the blocks is what the structured content is, as it should be for those who cannot read
// that: in other words of JSON, or bare, where the structure is only a wrapper.
func says(blocks []mcp.Content, structured json.RawMessage) bool {
	bare := onlyMember(structured)
	if text, ok := jsonrpc.Unquote(bare); ok {
		bare = json.RawMessage(text)
	}
	plain, whole, part := strings.TrimSpace(string(bare)), canonical(string(structured)), canonical(string(bare))
	for i := range blocks {
		text := strings.TrimSpace(blocks[i].Text)
		if blocks[i].Type != mcp.ContentText || text == "" {
			continue
		}
		same := canonical(text)
		if text == plain || same != "" && (same == whole || same == part) {
			return true
		}
	}
	return false
}

// onlyMember is the value of an object that has one member; nil of any other JSON.
func onlyMember(object json.RawMessage) (value json.RawMessage) {
	members := 0
	jsonrpc.EachMember(object, func(_, v []byte) bool {
		value, members = v, members+1
		return members == 1
	})
	if members > 1 {
		return nil
	}
	return value
}

// canonical is JSON in the one form that all that says the same has; empty of what is no JSON.
func canonical(text string) string {
	value := jsontext.Value(text)
	if value.Canonicalize() != nil {
		return ""
	}
	return string(value)
}

// take adds one block of a result.
func (o *outcome) take(text *strings.Builder, c *mcp.Content) {
	if text.Len() > 0 {
		text.WriteByte('\n')
	}
	switch {
	case c.Type == mcp.ContentText:
		text.WriteString(c.Text)
	case c.Data != nil:
		text.WriteString(o.attach(model.Media{Type: c.MIMEType, Data: c.Data}))
	case c.Link != nil:
		fmt.Fprintf(text, "[resource %s: %s", c.Link.URI, c.Link.Name)
		if c.Link.Description != "" {
			fmt.Fprintf(text, ", %s", c.Link.Description)
		}
		text.WriteString("]")
	case c.Resource != nil && c.Resource.Blob != nil:
		fmt.Fprintf(text, "[resource %s] ", c.Resource.URI)
		text.WriteString(o.attach(model.Media{Type: c.Resource.MIMEType, Data: c.Resource.Blob}))
	case c.Resource != nil:
		fmt.Fprintf(text, "[resource %s]\n%s", c.Resource.URI, c.Resource.Text)
	case c.Raw != nil:
		text.Write(plain(c.Raw))
	}
}

// attach adds something that is no text, and returns what stands for it in the text.
func (o *outcome) attach(m model.Media) string {
	o.bytes += len(m.Data)
	o.media = append(o.media, m)
	if !strings.HasPrefix(m.Type, "image/") || len(m.Data) > picture.MaxBytes || len(m.Data) == 0 {
		return fmt.Sprintf("[%s of %d bytes, which the person can see and you cannot]", cmp.Or(m.Type, "data"), len(m.Data))
	}
	o.parts = append(o.parts, model.Part{Media: &m})
	return fmt.Sprintf("[%s of %d bytes, attached]", m.Type, len(m.Data))
}

// paged keeps a long text and returns its first page.
func (r *run) paged(got *outcome, whole string, from ToolRef) string {
	most := r.page()
	if len(whole) <= most {
		return whole
	}
	r.c.shelving.Lock()
	defer r.c.shelving.Unlock()
	kept := Kept{URI: r.c.nextKept(), Server: from.Server, Tool: from.Tool, Text: clipped(whole, maxKeptEach)}
	if err := r.c.add(Entry{Kept: &kept}); err != nil {
		return clipped(whole, most) // the run ends with the next entry, for the same reason
	}
	got.kept = kept.URI
	first, _ := pageOf(kept.Text, 0, most, "")
	return first.text + "\n" + first.note(kept.URI)
}

// page is how many bytes the model is shown of a text: what comes together shares
// a third of the window, so that no turn can be larger than what there is.
func (r *run) page() int {
	return 4 * min(r.h.budget.Result, max(leastResult, r.h.budget.Window/3/max(1, r.sharing)))
}

func (c *Conversation) nextKept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.name()
}

// What a keptResults may hold.
const (
	maxKept      = 200      // results
	maxKeptBytes = 32 << 20 // of all of them; the oldest go first
	maxKeptEach  = 4 << 20  // of one; the rest of it is cut off
	keptScheme   = "junction://result/"
)

// keptResults are results that are too long to be shown to the model whole.
type keptResults struct {
	all   []Kept
	bytes int
	next  int
}

// name is the URI of the next result.
func (s *keptResults) name() string { return fmt.Sprintf("%s%d", keptScheme, s.next+1) }

// put adds a result, and returns the URIs of those that had to go for it. One without its text had to go before.
func (s *keptResults) put(k Kept) (gone []string) {
	s.next++
	if k.Text == "" {
		return nil
	}
	s.all = append(s.all, k)
	s.bytes += k.size()
	for len(s.all) > maxKept || s.bytes > maxKeptBytes {
		gone = append(gone, s.all[0].URI)
		s.bytes -= s.all[0].size()
		s.all = s.all[1:]
	}
	return gone
}

func (s *keptResults) get(uri string) (Kept, bool) {
	for _, k := range s.all {
		if k.URI == uri {
			return k, true
		}
	}
	return Kept{}, false
}

// A page is a piece of a long text.
type page struct {
	text     string
	from, to int // bytes
	total    int
	atTheEnd bool
}

// pageOf returns at most so many bytes of text from an offset on, or from shortly
// before the next place where find stands.
func pageOf(text string, from, most int, find string) (page, error) {
	from = min(max(from, 0), len(text))
	if find != "" {
		at := indexFold(text[from:], find)
		if at < 0 {
			return page{}, fmt.Errorf("%q does not stand in it from offset %d on (it has %d characters)", find, from, len(text))
		}
		from = max(from, from+at-most/4)
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+most, len(text))
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	if to < len(text) {
		if line := strings.LastIndexByte(text[from:to], '\n'); line > most/2 {
			to = from + line + 1
		}
	}
	return page{text: text[from:to], from: from, to: to, total: len(text), atTheEnd: to == len(text)}, nil
}

// indexFold is strings.Index without regard to the case of ASCII letters.
func indexFold(text, find string) int {
	lower := func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return strings.Index(strings.Map(lower, text), strings.Map(lower, find))
}

// note says what the page is of, and how to go on.
func (p page) note(uri string) string {
	if p.from == 0 && p.atTheEnd {
		return ""
	}
	text := fmt.Sprintf("[characters %d to %d of %d of %s", p.from, p.to, p.total, uri)
	if !p.atTheEnd {
		text += fmt.Sprintf("; read_resource with uri %q and offset %d has the next page, with \"find\" a place in it", uri, p.to)
	}
	return text + "]"
}

// readable is text as the model may read it: nothing in it that a person would not see.
func readable(text string) string { return guard.Clean(strings.ToValidUTF8(text, "\uFFFD")) }
