package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// messages is the conversation as the provider wants it.
func (m *Model) messages(req *model.Request, left map[string]bool) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	called := turnsWithCalls(req.Messages)
	for i := range req.Messages {
		msg := &req.Messages[i]
		switch msg.Role {
		case model.RoleUser:
			out = append(out, userMessage(msg.Parts))
		case model.RoleAssistant:
			out = append(out, m.assistant(msg, called[i], left))
		case model.RoleTool:
			out = append(out, m.results(msg)...)
		}
	}
	return out
}

// turnsWithCalls says of each message whether its turn, from one message of the
// user to the next, calls a tool.
func turnsWithCalls(messages []model.Message) []bool {
	called := make([]bool, len(messages))
	for from := 0; from < len(messages); {
		to, calls := from, false
		for ; to < len(messages) && (to == from || messages[to].Role != model.RoleUser); to++ {
			calls = calls || len(messages[to].Calls()) > 0
		}
		for ; from < to; from++ {
			called[from] = calls
		}
	}
	return called
}

// assistant is a message of the model, with what its provider put into it.
func (m *Model) assistant(msg *model.Message, inTurn bool, left map[string]bool) message {
	a := message{Role: "assistant", more: map[string]json.RawMessage{}}
	text := msg.Text()
	for _, c := range msg.Calls() {
		a.ToolCalls = append(a.ToolCalls, m.call(c))
	}
	if text != "" || len(a.ToolCalls) == 0 {
		a.Content = text
	}
	for name, value := range msg.Extra[m.preset.Name] {
		if m.goesBack(name, msg, inTurn, left) {
			a.more[name] = value
		}
	}
	if _, there := a.more["reasoning_content"]; !there && m.preset.reasoning == always && inTurn && !left[reasoningMember] {
		a.more["reasoning_content"] = json.RawMessage(`""`)
	}
	return a
}

// goesBack says whether a member of a message is sent back to its provider.
func (m *Model) goesBack(name string, msg *model.Message, inTurn bool, left map[string]bool) bool {
	switch name {
	case "role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio":
		return false // the message has them, or requests do not
	case "reasoning_content", "reasoning":
		_, detail := msg.Extra[m.preset.Name]["reasoning_details"]
		return m.preset.reasoning != never && !left[reasoningMember] && inTurn && !detail
	}
	return !left[extraMember]
}

func (m *Model) call(c *model.Call) callSent {
	sent := callSent{ID: m.wireID(c.ID), Type: "function", more: c.Extra[m.preset.Name]}
	sent.Function.Name, sent.Function.Arguments = c.Name, string(c.Arguments)
	return sent
}

// maxWireID is the longest id of a call that OpenAI takes.
const maxWireID = 40

var nineCharacters = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// wireID is the id of a call as the provider takes it: calls of another provider
// can be in the conversation.
func (m *Model) wireID(id string) string {
	if m.preset.shortIDs && !nineCharacters.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:9]
	}
	return wire.ShortID(id, maxWireID)
}

// results are one message for each result, and then, as their content can only be
// text, one of the user with their media.
func (m *Model) results(msg *model.Message) []message {
	var out []message
	var media []model.Part
	for i := range msg.Parts {
		r := msg.Parts[i].Result
		if r == nil {
			continue
		}
		text := []string{}
		for _, p := range r.Parts {
			if p.Media == nil {
				if p.Text != "" {
					text = append(text, p.Text)
				}
			} else if _, shown := mediaPart(p.Media); shown {
				text = append(text, fmt.Sprintf("[%s, in the message that follows]", p.Media.Type))
				media = append(media, model.Part{Text: fmt.Sprintf("The %s of %s (%s):", p.Media.Type, r.Name, m.wireID(r.CallID))}, p)
			} else {
				text = append(text, wire.NotShown(p.Media))
			}
		}
		out = append(out, message{Role: "tool", Content: wire.MarkError(r, strings.Join(text, "\n")), ToolCallID: m.wireID(r.CallID)})
	}
	if len(media) > 0 {
		out = append(out, userMessage(media))
	}
	return out
}
