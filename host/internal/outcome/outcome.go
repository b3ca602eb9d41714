// Package outcome converts the results of servers into the form that a model gets.
package outcome

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// An Outcome is the result of a call as the model gets it.
type Outcome struct {
	Parts   []model.Part
	Whole   string // full text; the model may get one page of it at a time
	IsError bool
	Bytes   int
	Kept    string // URI of the full text, if the model gets only a part
	Media   []model.Media
}

// Said returns an outcome with a text of the host.
func Said(format string, args ...any) Outcome {
	text := fmt.Sprintf(format, args...)
	return Outcome{Parts: []model.Part{{Text: text}}, Bytes: len(text)}
}

// Failed returns an outcome with an error text of the host.
func Failed(format string, args ...any) Outcome {
	o := Said(format, args...)
	o.IsError = true
	return o
}

// Of returns the outcome of a result, with its full text in Whole and its images in Parts.
func Of(result *mcp.CallToolResult) Outcome {
	o := Outcome{IsError: result.IsError}
	text := o.take(result.Content)
	if s := string(excerpt.CleanJSON(result.StructuredContent)); s != "" && !hasSameContent(result.Content, result.StructuredContent) {
		if text != "" {
			text += "\n"
		}
		text += s
	}
	o.Whole = excerpt.Clean(text)
	return o
}

// Read returns the outcome of blocks of content.
func Read(blocks ...mcp.Content) (o Outcome) {
	o.Whole = excerpt.Clean(o.take(blocks))
	return o
}

// hasSameContent reports whether one of the blocks contains the structured content as text. The
// specification asks servers for this, for clients that cannot read structured content. The text
// may be other JSON of the same value, or the bare value of a structure with one member.
func hasSameContent(blocks []mcp.Content, structured json.RawMessage) bool {
	var bare json.RawMessage // value of the only member
	members := 0
	jsonrpc.EachMember(structured, func(_, value []byte) bool {
		bare, members = value, members+1
		return members == 1
	})
	if members > 1 {
		bare = nil
	}
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

// canonical returns JSON in canonical form, or "" for other text.
func canonical(text string) string {
	value := jsontext.Value(text)
	if value.Canonicalize() != nil {
		return ""
	}
	return string(value)
}

// take adds the media in blocks of content to o, and returns the text of all blocks.
func (o *Outcome) take(blocks []mcp.Content) string {
	var text strings.Builder
	for _, c := range blocks {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		switch {
		case c.Type == mcp.ContentText:
			text.WriteString(c.Text)
		case c.Data != nil:
			text.WriteString(o.attach(model.Media{Type: c.MIMEType, Data: c.Data}))
		case c.Link != nil:
			fmt.Fprintf(&text, "[resource %s: %s", c.Link.URI, c.Link.Name)
			if c.Link.Description != "" {
				fmt.Fprintf(&text, ", %s", c.Link.Description)
			}
			text.WriteString("]")
		case c.Resource != nil && c.Resource.Blob != nil:
			fmt.Fprintf(&text, "[resource %s] ", c.Resource.URI)
			text.WriteString(o.attach(model.Media{Type: c.Resource.MIMEType, Data: c.Resource.Blob}))
		case c.Resource != nil:
			fmt.Fprintf(&text, "[resource %s]\n%s", c.Resource.URI, c.Resource.Text)
		case c.Raw != nil:
			text.Write(excerpt.CleanJSON(c.Raw))
		}
	}
	return text.String()
}

// attach adds an image, sound or file, and returns the text in its place.
func (o *Outcome) attach(m model.Media) string {
	o.Bytes += len(m.Data)
	o.Media = append(o.Media, m)
	if !strings.HasPrefix(m.Type, "image/") || len(m.Data) > picture.MaxBytes || len(m.Data) == 0 {
		return fmt.Sprintf("[%s of %d bytes, which the user can see and you cannot]", cmp.Or(m.Type, "data"), len(m.Data))
	}
	o.Parts = append(o.Parts, model.Part{Media: &m})
	return fmt.Sprintf("[%s of %d bytes, attached]", m.Type, len(m.Data))
}
