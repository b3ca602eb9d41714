package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	provider  string
	emit      func(model.Delta)
	ids       *wire.IDs
	text      wire.Joined
	reasoning wire.Joined
	calls     []*call
	byIndex   map[int]*call // the newest of each index
	extra     extras
	usage     *model.Usage
	name      string // the model's
	reason    string
	refused   bool
	begun     bool            // a choice has come
	done      bool            // the stream said that it is
	fault     string          // why nothing more is read
	complaint *wire.Complaint // what the provider says instead
}

func newAssembly(provider string, req *model.Request, emit func(model.Delta)) *assembly {
	return &assembly{
		provider: provider, emit: emit, ids: wire.NewIDs(req),
		byIndex: map[int]*call{},
	}
}

// chunk takes in one event of the stream, or a whole answer. What came of the
// message is in the named member of a choice.
func (a *assembly) chunk(data []byte, member string) {
	if name := wire.StringOf(data, "model"); name != "" {
		a.name = name
	}
	if u := usageOf(data); u != nil {
		a.usage = u
	}
	jsonrpc.EachElement(jsonrpc.Get(data, "choices"), func(choice []byte) bool {
		if wire.Number(choice, "index") != 0 {
			return true // nobody asked for a second answer
		}
		a.begun = true
		a.delta(jsonrpc.Get(choice, member))
		if reason := wire.StringOf(choice, "finish_reason"); reason != "" {
			a.reason = reason
		}
		return true
	})
	if a.extra.count > maxExtras {
		a.fault = fmt.Sprintf("the message has more than %d members that nobody knows", maxExtras)
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
		a.refused = true
		a.addText(refusal)
	}
	jsonrpc.EachElement(jsonrpc.Get(delta, "tool_calls"), func(call []byte) bool {
		a.toolCall(pieceOf(call))
		return true
	})
	// Servers that were made before tool calls still answer with it.
	if f := jsonrpc.Get(delta, "function_call"); len(f) > 0 && f[0] == '{' {
		zero := 0
		p := piece{index: &zero}
		p.addFunction(f)
		a.toolCall(p)
	}
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

func (a *assembly) addText(text string) {
	if text = a.text.Add(text); text != "" {
		a.emit(model.Delta{Text: text})
	}
}

// addRest gives on bytes that waited for the rest of their character.
func (a *assembly) addRest() {
	if rest := a.reasoning.End(); rest != "" {
		a.emit(model.Delta{Reasoning: rest})
	}
	if rest := a.text.End(); rest != "" {
		a.emit(model.Delta{Text: rest})
	}
}

func (a *assembly) addReasoning(text string) {
	if text = a.reasoning.Add(text); text != "" {
		a.emit(model.Delta{Reasoning: text})
	}
}

// response is what the pieces add up to. Of an answer that is cut, calls that are
// not complete are left out.
func (a *assembly) response(req *model.Request, broken bool) *model.Response {
	if !broken { // half a character of half an answer is nothing
		a.addRest()
	}
	res := &model.Response{Model: a.name, StopDetail: a.reason}
	res.Message = model.Message{Role: model.RoleAssistant, Parts: a.parts(broken)}
	if extra := a.extra.all(); extra != nil {
		res.Message.Extra = map[string]map[string]json.RawMessage{a.provider: extra}
	}
	res.Stop = a.stop(len(res.Message.Calls()), broken)
	if a.usage != nil {
		res.Usage = *a.usage
	} else {
		res.Usage = wire.Estimate(req, &res.Message)
	}
	return res
}

func (a *assembly) parts(broken bool) []model.Part {
	var parts []model.Part
	if text := a.reasoning.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Reasoning: &model.Reasoning{Text: text, Provider: a.provider}})
	}
	if text := a.text.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Text: text})
	}
	cut := broken || a.reason == "length"
	for i, c := range a.calls {
		last := i == len(a.calls)-1
		if cut && !c.complete(last || broken) {
			break
		}
		if c.name != "" {
			parts = append(parts, model.Part{Call: c.call(a.provider)})
		}
	}
	return parts
}

// stop translates the reason. Some servers say stop where they mean calls.
func (a *assembly) stop(calls int, broken bool) model.StopReason {
	switch reason := strings.ToLower(a.reason); {
	case broken:
		return model.StopOther
	case a.refused, strings.HasPrefix(reason, "content_filter"), reason == "safety", reason == "sensitive":
		return model.StopRefusal
	case reason == "length", reason == "max_tokens":
		return model.StopLength
	case calls > 0:
		return model.StopCalls
	case reason == "", reason == "stop", reason == "eos", reason == "end_turn", reason == "stop_sequence":
		return model.StopEnd
	}
	return model.StopOther
}
