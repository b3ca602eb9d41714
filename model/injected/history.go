package injected

import (
	"cmp"
	"fmt"

	"github.com/junction-mcp/junction/model"
)

// render writes a conversation without calls and results as messages: calls are
// text of the assistant, results are text of the user. Two messages of the same
// speaker become one, because many chat templates want them in turns.
func render(messages []model.Message) []model.Message {
	var out []model.Message
	for i := range messages {
		next := renderMessage(&messages[i])
		if len(next.Parts) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == next.Role && next.Role == model.RoleUser {
			out[n-1].Parts = append(out[n-1].Parts, next.Parts...)
			continue
		}
		out = append(out, next)
	}
	return out
}

func renderMessage(m *model.Message) model.Message {
	out := model.Message{Role: m.Role, Extra: m.Extra}
	if m.Role == model.RoleTool {
		out.Role = model.RoleUser
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Call != nil:
			out.Parts = appendText(out.Parts, renderCall(p.Call))
		case p.Result != nil:
			failed := ""
			if p.Result.IsError {
				failed = ` error="true"`
			}
			out.Parts = appendText(out.Parts, fmt.Sprintf("<tool_response name=%q%s>\n%s\n</tool_response>", portable(p.Result.Name), failed, cmp.Or(harmlessText(p.Result.Text()), "(no text)")))
			for _, part := range p.Result.Parts {
				if part.Media != nil {
					out.Parts = append(out.Parts, part)
				}
			}
		case p.Reasoning != nil && p.Reasoning.Raw == nil:
			// It was text between tags; models are trained not to see it again.
		case p.Text != "":
			out.Parts = appendText(out.Parts, p.Text)
		default:
			out.Parts = append(out.Parts, *p)
		}
	}
	return out
}

// appendText joins text to the text before it.
func appendText(parts []model.Part, text string) []model.Part {
	if n := len(parts); n > 0 && parts[n-1].Text != "" {
		parts[n-1].Text += "\n" + text
		return parts
	}
	return append(parts, model.Part{Text: text})
}

func renderCall(c *model.Call) string {
	if c.Malformed != "" && c.Raw != "" {
		return "<tool_call>\n" + harmlessText(c.Raw) + "\n</tool_call>"
	}
	return "<tool_call>\n" + string(appendCall(nil, c.Name, c.Arguments)) + "\n</tool_call>"
}
