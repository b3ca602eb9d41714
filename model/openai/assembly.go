package openai

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	*wire.Answer
	text      wire.Joined
	reasoning wire.Joined
	calls     []*call
	byIndex   map[int]*call // the newest of each index
	extra     extras
}

// Event takes in an event of the stream.
func (a *assembly) Event(data []byte) {
	if fault := jsonrpc.Get(data, "error"); fault != nil && string(fault) != "null" {
		a.Complain(data)
		return
	}
	a.chunk(data, "delta")
}

// Whole takes in an answer that is no stream: the message of a choice is not called delta there.
func (a *assembly) Whole(data []byte) {
	if jsonrpc.Get(data, "choices") == nil {
		a.Complain(data)
		return
	}
	a.chunk(data, "message")
}

// chunk takes in one event of the stream, or a whole answer. What came of the
// message is in the named member of a choice.
func (a *assembly) chunk(data []byte, member string) {
	a.Model = cmp.Or(wire.StringOf(data, "model"), a.Model)
	a.Usage = cmp.Or(usageOf(data), a.Usage)
	jsonrpc.EachElement(jsonrpc.Get(data, "choices"), func(choice []byte) bool {
		if wire.Number(choice, "index") != 0 {
			return true // nobody asked for a second answer
		}
		a.Begun = true
		a.delta(jsonrpc.Get(choice, member))
		a.Reason = cmp.Or(wire.StringOf(choice, "finish_reason"), a.Reason)
		return true
	})
	if a.Reason == "error" || a.Reason == "abort" {
		a.Fault = "the provider gave up"
	}
	if a.extra.count > maxExtras {
		a.Fault = fmt.Sprintf("the message has more than %d members that nobody knows", maxExtras)
	}
}

func (a *assembly) delta(delta []byte) {
	more := wire.MembersBut(delta, "role", "content", "refusal", "tool_calls", "function_call")
	a.addReasoning(reasoningIn(more))
	for name, value := range more {
		a.extra.add(name, value)
	}
	a.content(jsonrpc.Get(delta, "content"), isThought(more))
	if refusal := wire.StringOf(delta, "refusal"); refusal != "" {
		a.Refused = true
		a.addText(refusal)
	}
	jsonrpc.EachElement(jsonrpc.Get(delta, "tool_calls"), func(call []byte) bool {
		a.toolCall(pieceOf(call))
		return true
	})
}

// content is a text, or a list of parts (Mistral's thinking).
func (a *assembly) content(raw []byte, thought bool) {
	if len(raw) == 0 || raw[0] != '[' {
		if thought {
			a.addReasoning(wire.String(raw))
		} else {
			a.addText(wire.String(raw))
		}
		return
	}
	jsonrpc.EachElement(raw, func(part []byte) bool {
		if inner := jsonrpc.Get(part, "thinking"); inner != nil {
			a.addReasoning(textsIn(inner))
		} else {
			a.addText(wire.StringOf(part, "text"))
		}
		return true
	})
}

func (a *assembly) addText(text string) { a.Text(a.text.Add(text)) }

func (a *assembly) addReasoning(text string) { a.Reasoning(a.reasoning.Add(text)) }

// Message is what the pieces add up to.
func (a *assembly) Message(broken bool) model.Message {
	if !broken { // half a character of half an answer is nothing
		a.Reasoning(a.reasoning.End())
		a.Text(a.text.End())
	}
	return model.Message{Parts: a.parts(broken), Extra: wire.Extra(a.Provider, a.extra.all())}
}

func (a *assembly) parts(broken bool) []model.Part {
	var parts []model.Part
	if text := a.reasoning.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Reasoning: &model.Reasoning{Text: text, Provider: a.Provider}})
	}
	if text := a.text.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Text: text})
	}
	cut := broken || a.IsCut()
	for i, c := range a.calls {
		last := i == len(a.calls)-1
		if cut && !c.complete(last || broken) {
			break
		}
		if c.name != "" {
			parts = append(parts, model.Part{Call: c.call(a.Provider)})
		}
	}
	return parts
}
