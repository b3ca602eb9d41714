package show

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// A Save stores data that a terminal cannot show, and returns the path of the file. The path is
// empty if the data is not to be stored. The name comes from the server: it may be a URI or empty.
type Save func(name, mimeType string, data []byte) (path string, err error)

// A printer formats the content blocks of one result.
type printer struct {
	out   strings.Builder
	width int
	save  Save
}

// CallResult formats the result of a tool. Text appears unchanged. Structured content appears only
// if there is no text. Other content is described by kind, type and size. The error comes from
// save.
func CallResult(r *mcp.CallToolResult, width int, save Save) (string, error) {
	p := &printer{width: width, save: save}
	texts := 0
	for i := range r.Content {
		if r.Content[i].Type == mcp.ContentText {
			texts++
		}
		if err := p.block(&r.Content[i]); err != nil {
			return p.out.String(), err
		}
	}
	if texts == 0 && r.StructuredContent != nil {
		p.text(pretty(r.StructuredContent))
	}
	return p.out.String(), nil
}

// Contents formats the contents of a resource. The error comes from save.
func Contents(r *mcp.ReadResourceResult, width int, save Save) (string, error) {
	p := &printer{width: width, save: save}
	for i := range r.Contents {
		if err := p.resource(&r.Contents[i], len(r.Contents) > 1); err != nil {
			return p.out.String(), err
		}
	}
	return p.out.String(), nil
}

// PromptResult formats the messages of a prompt, each under its role. The error comes from save.
func PromptResult(r *mcp.GetPromptResult, width int, save Save) (string, error) {
	p := &printer{width: width, save: save}
	if r.Description != "" {
		p.text(terminal.Wrap(plaintext.Clean(r.Description), 0, width))
	}
	for i := range r.Messages {
		if p.out.Len() > 0 {
			p.out.WriteByte('\n')
		}
		p.text(plaintext.Line(string(r.Messages[i].Role), maxName) + ":")
		if err := p.block(&r.Messages[i].Content); err != nil {
			return p.out.String(), err
		}
	}
	return p.out.String(), nil
}

func (p *printer) text(text string) {
	p.out.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.out.WriteByte('\n')
	}
}

func (p *printer) block(c *mcp.Content) error {
	switch c.Type {
	case mcp.ContentText:
		p.text(c.Text)
	case mcp.ContentImage, mcp.ContentAudio:
		return p.data(c.Type, "", c.MIMEType, c.Data)
	case mcp.ContentResource:
		return p.resource(c.Resource, true)
	case mcp.ContentResourceLink:
		p.link(c.Link)
	default:
		p.announce(c.Type)
		p.text(pretty(c.Raw))
	}
	return nil
}

func (p *printer) link(r *mcp.Resource) {
	size := ""
	if r.Size != nil {
		size = Size(*r.Size)
	}
	p.announce("link "+r.URI, cmp.Or(r.Title, r.Name), r.MIMEType, size)
	p.text(terminal.Wrap(plaintext.Clean(r.Description), indent, p.width))
}

func (p *printer) resource(r *mcp.ResourceContents, announced bool) error {
	if r.Blob != nil {
		return p.data("resource "+r.URI, r.URI, r.MIMEType, r.Blob)
	}
	if announced {
		p.announce("resource "+r.URI, r.MIMEType, Size(int64(len(r.Text))))
	}
	p.text(r.Text)
	return nil
}

func (p *printer) data(what, name, mimeType string, data []byte) error {
	where := ""
	if p.save != nil {
		path, err := p.save(name, mimeType, data)
		if err != nil {
			return err
		}
		if path != "" {
			where = "saved as " + path
		}
	}
	p.announce(what, mimeType, Size(int64(len(data))), where)
	return nil
}

// announce writes one line that describes content without showing it.
func (p *printer) announce(what string, details ...string) {
	line := plaintext.Line(what, maxName)
	for _, d := range details {
		if d = plaintext.Line(d, maxName); d != "" {
			line += ", " + d
		}
	}
	p.out.WriteString("[" + line + "]\n")
}

// pretty indents JSON. It returns invalid JSON unchanged.
func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
