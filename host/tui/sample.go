package tui

import (
	"fmt"
	"strconv"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/mcp"
)

// sampleCard asks whether a server may use the model.
type sampleCard struct {
	pending
	sampling host.Sampling
}

func (c *sampleCard) press(_ *screen, k keypress) bool {
	switch {
	case c.scroll.move(k.name):
		return false
	case k.text == "y":
		c.ask.answer(true)
		return true
	case k.text == "n", k.name == "esc":
		c.ask.answer(false)
		return true
	}
	return false
}

func (c *sampleCard) lines(s *screen, width, height int) []ink.Line {
	title := c.sampling.Server + " wants to ask the model; may it?"
	no := "n Esc no"
	if s.byLine {
		no = "n no"
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, s.foot(width, "", "y yes, once", no, scrollKeys), width, height)
}

// body is the whole request.
func (c *sampleCard) body(width int) []ink.Line {
	sm := &c.sampling
	cost := fmt.Sprintf("up to %s tokens; %s are left for this server", count(sm.Tokens), count(sm.Budget))
	lines := about("costs", ink.Plain, cost, width)
	if sm.Tool != "" {
		lines = append(lines, about("in the middle of", ink.Plain, toolName(sm.Server, sm.Tool), width)...)
	}
	lines = append(lines, warnings(sm.Warnings, width)...)
	req := sm.Request
	if req == nil {
		return lines
	}
	margin := ink.Of("  ")
	if req.SystemPrompt != "" {
		lines = append(lines, ink.Line{ink.T(ink.Muted, "system prompt:")})
		lines = append(lines, ink.Indent(ink.Lines(ink.Plain, req.SystemPrompt, width-2), margin, margin)...)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		lines = append(lines, ink.Line{ink.T(ink.Muted, oneLine(string(m.Role), 40)+":")})
		for j := range m.Content {
			lines = append(lines, ink.Indent(contentLines(&m.Content[j], width-2), margin, margin)...)
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		lines = append(lines, about("with the tool", ink.Plain, t.Name+" "+unbroken(orElse(t.Description, t.Title)), width)...)
		if len(t.InputSchema) > 0 { // its descriptions are read, too
			lines = append(lines, ink.Indent(jsonLines(t.InputSchema, width-2), margin, margin)...)
		}
	}
	for _, stop := range req.StopSequences {
		lines = append(lines, about("stops at", ink.Plain, strconv.Quote(stop), width)...)
	}
	return lines
}

// contentLines show one block of what a server says.
func contentLines(c *mcp.Content, width int) []ink.Line {
	switch c.Type {
	case mcp.ContentText:
		return ink.Lines(ink.Plain, c.Text, width)
	case mcp.ContentImage, mcp.ContentAudio:
		return ink.Lines(ink.Muted, fmt.Sprintf("[%s: %s, %s]", c.Type, c.MIMEType, bytes(len(c.Data))), width)
	case mcp.ContentResourceLink:
		if c.Link != nil {
			return ink.Lines(ink.Plain, fmt.Sprintf("[resource %s: %s, %s]", c.Link.URI, c.Link.Name, c.Link.Description), width)
		}
	case mcp.ContentResource:
		if c.Resource != nil && c.Resource.Blob != nil {
			return ink.Lines(ink.Muted, fmt.Sprintf("[resource %s: %s, %s]", c.Resource.URI, c.Resource.MIMEType, bytes(len(c.Resource.Blob))), width)
		}
		if c.Resource != nil {
			return ink.Lines(ink.Plain, fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, c.Resource.Text), width)
		}
	case mcp.ContentToolUse:
		if c.ToolUse != nil {
			return append(ink.Lines(ink.Muted, "[calls "+c.ToolUse.Name+"]", width), jsonLines(c.ToolUse.Input, width)...)
		}
	case mcp.ContentToolResult:
		if c.ToolResult != nil {
			var lines []ink.Line
			for i := range c.ToolResult.Content {
				if b := &c.ToolResult.Content[i]; b.Type != mcp.ContentToolResult {
					lines = append(lines, contentLines(b, width)...)
				}
			}
			return append(ink.Lines(ink.Muted, "[result]", width), lines...)
		}
	}
	lines := ink.Lines(ink.Muted, "["+c.Type+"]", width)
	if c.Raw != nil {
		lines = append(lines, jsonLines(c.Raw, width)...)
	}
	return lines
}
