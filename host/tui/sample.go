package tui

import (
	"fmt"

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
	return framed(title, c.laid.of(width, c.body), &c.scroll, s.foot(width, "", "y yes, once", "n Esc no", scrollKeys), width, height)
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
		lines = append(lines, about("with the tool", ink.Plain, req.Tools[i].Name+" "+unbroken(req.Tools[i].Description), width)...)
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
	return ink.Lines(ink.Muted, "["+c.Type+"]", width)
}
