package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// An assembly builds an answer from the pieces of a stream.
type assembly struct {
	*wire.Answer
	text      wire.Joined
	reasoning wire.Joined
	calls     []*call
	byIndex   map[int]*call // latest call with each index
	extra     extras
}

// Event adds an event of the stream.
func (a *assembly) Event(data []byte) {
	if fault := jsonrpc.Get(data, "error"); fault != nil && string(fault) != "null" {
		a.Complain(data)
		return
	}
	a.chunk(data, "delta")
}

// Whole adds an answer that was not streamed. Its choices have a member message instead of delta.
func (a *assembly) Whole(data []byte) {
	if jsonrpc.Get(data, "choices") == nil {
		a.Complain(data)
		return
	}
	a.chunk(data, "message")
}

// chunk adds one event of the stream, or a complete answer. member is the name of the message in a
// choice.
func (a *assembly) chunk(data []byte, member string) {
	a.Model = cmp.Or(wire.StringOf(data, "model"), a.Model)
	a.Usage = cmp.Or(usageOf(data), a.Usage)
	jsonrpc.EachElement(jsonrpc.Get(data, "choices"), func(choice []byte) bool {
		if wire.Number(choice, "index") != 0 {
			return true // requests ask for one choice only
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
		a.Fault = fmt.Sprintf("the message has more than %d unknown members", maxExtras)
	}
}

func (a *assembly) delta(delta []byte) {
	more := wire.MembersBut(delta, "role", "content", "refusal", "tool_calls", "function_call")
	a.addReasoning(reasoningIn(more))
	for name, value := range more {
		a.extra.add(name, value)
	}
	a.content(jsonrpc.Get(delta, "content"), string(jsonrpc.Get(jsonrpc.Get(more["extra_content"], "google"), "thought")) == "true")
	if refusal := wire.StringOf(delta, "refusal"); refusal != "" {
		a.Refused = true
		a.addText(refusal)
	}
	jsonrpc.EachElement(jsonrpc.Get(delta, "tool_calls"), func(call []byte) bool {
		a.toolCall(pieceOf(call))
		return true
	})
}

// content adds a text, or a list of parts, as in Mistral's thinking.
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

// Message returns the message assembled from the pieces.
func (a *assembly) Message(broken bool) model.Message {
	if !broken { // a broken answer may end with half a character, which is dropped
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

// maxCalls is the maximum number of calls in one message.
const maxCalls = 256

// A call is a call that is still being received.
type call struct {
	index     int
	wireID    string // the provider's id; may be empty
	id, name  string
	arguments wire.Joined
	emitted   bool
	extra     map[string]json.RawMessage
}

// A piece is the part of a call in one event.
type piece struct {
	index     *int
	id, name  string
	arguments string
	extra     map[string]json.RawMessage
}

func pieceOf(raw []byte) piece {
	p := piece{id: wire.StringOf(raw, "id"), extra: wire.MembersBut(raw, "index", "id", "type", "function")}
	if index := 0; json.Unmarshal(jsonrpc.Get(raw, "index"), &index) == nil && string(jsonrpc.Get(raw, "index")) != "null" {
		p.index = &index
	}
	function := jsonrpc.Get(raw, "function")
	p.name = wire.StringOf(function, "name")
	switch arguments := jsonrpc.Get(function, "arguments"); {
	case len(arguments) > 0 && arguments[0] == '"':
		p.arguments = wire.String(arguments)
	case string(arguments) != "null": // some servers send the object itself
		p.arguments = string(arguments)
	}
	return p
}

// toolCall adds a piece of a call.
func (a *assembly) toolCall(p piece) {
	c := a.owner(p)
	if c == nil {
		return
	}
	c.wireID, c.name = cmp.Or(c.wireID, p.id), cmp.Or(c.name, p.name)
	for name, value := range p.extra {
		if c.extra == nil {
			c.extra = map[string]json.RawMessage{}
		}
		if c.extra[name] != nil || a.extra.room() {
			c.extra[name] = value
		}
	}
	text := c.arguments.Add(p.arguments)
	a.emitCall(c, text)
}

// emitCall emits a piece of a call. The first emitted piece includes the name, so emitCall waits
// for it.
func (a *assembly) emitCall(c *call, text string) {
	d := &model.CallDelta{Index: c.index, Arguments: text}
	switch {
	case c.name == "":
		return
	case !c.emitted:
		c.emitted = true
		c.id = a.IDs.Unique(c.wireID)
		d.ID, d.Name, d.Arguments = c.id, c.name, c.arguments.String()
	case text == "":
		return
	}
	a.Emit(model.Delta{Call: d})
}

// owner returns the call to which a piece belongs. It uses the index if possible. But some servers
// send no index, or the same index for every call, and some send no id.
func (a *assembly) owner(p piece) *call {
	var c *call
	switch {
	case p.index != nil:
		c = a.byIndex[*p.index]
	case p.id != "":
		for _, known := range a.calls {
			if known.wireID == p.id {
				c = known
			}
		}
	case len(a.calls) > 0:
		c = a.calls[len(a.calls)-1]
	}
	if c != nil && !c.isOver(p) {
		return c
	}
	if c == nil && p.name == "" && p.id == "" && strings.TrimSpace(p.arguments) == "" {
		return nil // the piece is empty
	}
	if len(a.calls) >= maxCalls {
		a.Fault = fmt.Sprintf("the message has more than %d calls", maxCalls)
		return nil
	}
	c = &call{index: len(a.calls)}
	a.calls = append(a.calls, c)
	if p.index != nil {
		a.byIndex[*p.index] = c
	}
	return c
}

// isOver reports whether a piece begins a new call instead of continuing this one.
func (c *call) isOver(p piece) bool {
	switch {
	case p.id != "" && c.wireID != "":
		return p.id != c.wireID
	case p.name != "" && c.name != "":
		return p.name != c.name || p.arguments != "" && isObject(c.arguments.String())
	}
	return false
}

// complete reports whether a call in a cut answer can be kept. Its arguments must be an object, or
// be empty with another call after it.
func (c *call) complete(last bool) bool {
	text := strings.TrimSpace(c.arguments.String())
	return c.name != "" && (text == "" && !last || isObject(text))
}

// isObject reports whether a text is one complete object. It checks the ends first, because it may
// run after every piece.
func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && json.Valid([]byte(text))
}

func (c *call) call(provider string) *model.Call {
	made := &model.Call{ID: c.id, Name: c.name}
	c.arguments.End()
	wire.SetArguments(made, c.arguments.String())
	made.Extra = wire.Extra(provider, c.extra)
	return made
}

// reasoningIn returns the reasoning in members that the protocol does not define. Servers that use
// several names repeat the same text.
func reasoningIn(more map[string]json.RawMessage) string {
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		if text := wire.String(more[name]); text != "" {
			return text
		}
	}
	return textsIn(more["reasoning_details"])
}

// textsIn joins the texts of a list of parts.
func textsIn(list []byte) string {
	if len(list) == 0 || list[0] != '[' {
		return wire.String(list)
	}
	var b strings.Builder
	jsonrpc.EachElement(list, func(part []byte) bool {
		b.WriteString(wire.StringOf(part, "text"))
		b.WriteString(wire.StringOf(part, "summary"))
		return true
	})
	return b.String()
}

// extras holds the members of a message that the protocol does not define. Texts and lists of
// reasoning are joined from pieces. For other values the last one counts.
type extras struct {
	count   int // number of separately stored parts in the message and its calls
	members pieces
	details []*pieces // details holds reasoning_details, as sent by OpenRouter.
}

func (e *extras) add(name string, value json.RawMessage) {
	if name == "reasoning_details" && value[0] == '[' {
		jsonrpc.EachElement(value, func(part []byte) bool {
			e.addDetail(part)
			return e.count <= maxExtras
		})
		return
	}
	e.members.add(name, value, strings.HasPrefix(name, "reasoning") || name == "thinking", e.room)
}

// maxExtras is the maximum number of undefined members and parts in one message. Each takes much
// more memory than on the wire.
const maxExtras = 1 << 16

// room counts one more part, and reports whether it is within the limit.
func (e *extras) room() bool {
	e.count++
	return e.count <= maxExtras
}

// addDetail adds a piece. It continues the last detail if both have the same type and index.
func (e *extras) addDetail(piece []byte) {
	last := len(e.details) - 1
	if last < 0 || !e.details[last].isOf(piece) {
		if !e.room() {
			return
		}
		e.details, last = append(e.details, &pieces{}), last+1
	}
	jsonrpc.EachMember(piece, func(quoted, value []byte) bool {
		name := wire.String(quoted)
		e.details[last].add(name, value, name == "text" || name == "summary" || name == "data", e.room)
		return true
	})
}

// all returns the joined members, or nil if there are none.
func (e *extras) all() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, name := range e.members.names {
		if value := e.members.whole(name); string(value) != `""` {
			all[name] = value
		}
	}
	if len(e.details) > 0 {
		list := jsonrpc.NewArray(nil)
		for _, d := range e.details {
			object := jsonrpc.NewObject(nil)
			for _, name := range d.names {
				object.Raw(name, d.whole(name))
			}
			list.Element(object.Bytes())
		}
		all["reasoning_details"] = list.Bytes()
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// pieces is an object whose members come in pieces.
type pieces struct {
	names  []string // in order of arrival
	values map[string]json.RawMessage
	texts  map[string]*wire.Joined
}

// add adds a member. If joins is set, a text continues the previous one. For other values the last
// one that is not null counts.
func (p *pieces) add(name string, value json.RawMessage, joins bool, room func() bool) {
	if p.values == nil {
		p.values, p.texts = map[string]json.RawMessage{}, map[string]*wire.Joined{}
	}
	old, known := p.values[name]
	switch {
	case !known && !room():
		return
	case !known:
		p.names = append(p.names, name)
	case string(value) == "null":
		value = old
	}
	p.values[name] = value
	if joins && value[0] == '"' {
		if p.texts[name] == nil {
			p.texts[name] = &wire.Joined{}
		}
		p.texts[name].Add(wire.String(value))
	}
}

func (p *pieces) whole(name string) json.RawMessage {
	if text := p.texts[name]; text != nil && p.values[name][0] == '"' {
		text.End()
		return jsonrpc.AppendString(nil, text.String())
	}
	return p.values[name]
}

func (p *pieces) isOf(piece []byte) bool {
	index := jsonrpc.Get(piece, "index")
	return index != nil && string(index) == string(p.values["index"]) && string(jsonrpc.Get(piece, "type")) == string(p.values["type"])
}

// usageOf returns the token counts of an event, or nil. Most servers send them once, at the end.
// Some send the sum so far in every event.
func usageOf(event []byte) *model.Usage {
	u := jsonrpc.Get(event, "usage")
	if u == nil || string(u) == "null" {
		u = jsonrpc.Get(jsonrpc.Get(event, "x_groq"), "usage")
	}
	input, output := wire.Number(u, "prompt_tokens"), wire.Number(u, "completion_tokens")
	if total := wire.Number(u, "total_tokens"); total > input+output {
		output = total - input // Gemini includes thoughts only in the total
	}
	if input+output == 0 {
		return nil
	}
	read := cmp.Or(wire.Number(jsonrpc.Get(u, "prompt_tokens_details"), "cached_tokens"), wire.Number(u, "prompt_cache_hit_tokens"), wire.Number(u, "cached_tokens"))
	return &model.Usage{
		Input: input, Output: output, CacheRead: min(read, input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "completion_tokens_details"), "reasoning_tokens"), output),
	}
}
