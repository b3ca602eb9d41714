package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// maxItems is the maximum number of items in an answer.
const maxItems = 1_024

// An assembly builds an answer from the events of a stream.
type assembly struct {
	*wire.Answer
	items   []*item
	byIndex map[int]*item
	calls   int
	cut     bool // the response was reported as incomplete
}

// An item is an item of the output that is still being received.
type item struct {
	kind string
	raw  json.RawMessage // the item from its first event, and later from its last
	done bool
	text wire.Joined // text of a message, of arguments, or of reasoning
	part int         // current part of the reasoning
	// For a call: its index in the answer, and its id in the message.
	call int
	id   string
}

func (i *item) member(name string) string { return wire.StringOf(i.raw, name) }

// open begins an item, or returns the one at its index.
func (a *assembly) open(index int, raw []byte) *item {
	if i := a.byIndex[index]; i != nil {
		return i
	}
	if len(a.items) >= maxItems {
		a.Fault = fmt.Sprintf("the answer has more than %d items", maxItems)
		return &item{}
	}
	i := &item{kind: wire.StringOf(raw, "type"), raw: slices.Clone(raw)}
	a.items, a.byIndex[index], a.Begun = append(a.items, i), i, true
	a.announce(i)
	return i
}

// announce emits a call as soon as its name is known.
func (a *assembly) announce(i *item) {
	if i.kind != "function_call" || i.id != "" || i.member("name") == "" {
		return
	}
	i.id, i.call = a.IDs.Unique(cmp.Or(i.member("call_id"), i.member("id"))), a.calls
	a.calls++
	a.Emit(model.Delta{Call: &model.CallDelta{Index: i.call, ID: i.id, Name: i.member("name"), Arguments: i.text.String()}})
}

// add adds a piece of a text or of arguments.
func (a *assembly) add(index int, kind, delta string) {
	i := a.open(index, []byte(`{"type":"`+kind+`"}`))
	if !i.done && i.kind == kind {
		a.show(i, i.text.Add(delta))
	}
}

// show emits a piece of an item. Pieces of a call are emitted after its name is known.
func (a *assembly) show(i *item, text string) {
	switch {
	case i.kind == "message":
		a.Text(text)
	case i.kind == "reasoning":
		a.Reasoning(text)
	case i.id != "":
		a.Arguments(i.call, text)
	}
}

// think adds a piece of reasoning.
func (a *assembly) think(index, part int, delta string) {
	i := a.open(index, []byte(`{"type":"reasoning"}`))
	if delta == "" || i.done || i.kind != "reasoning" {
		return
	}
	if i.part != part && i.text.Len() > 0 {
		delta = "\n\n" + delta
	}
	i.part = part
	a.show(i, i.text.Add(delta))
}

// close ends an item. It emits text that no event contained.
func (a *assembly) close(index int, raw []byte) {
	i := a.open(index, raw)
	if i.done || a.Fault != "" {
		return
	}
	if len(raw) > 0 {
		i.raw = slices.Clone(raw)
	}
	a.announce(i)
	if i.text.Len() == 0 {
		switch i.kind {
		case "message":
			a.contents(i.raw, "content", func(_ int, text string) { a.add(index, "message", text) })
		case "reasoning":
			a.contents(i.raw, "summary", func(n int, text string) { a.think(index, n, text) })
			a.contents(i.raw, "content", func(n int, text string) { a.think(index, n, text) })
		case "function_call":
			a.add(index, "function_call", i.member("arguments"))
		}
	}
	a.show(i, i.text.End())
	i.done = true
}

// contents calls found with each text in an item's list.
func (a *assembly) contents(raw []byte, list string, found func(n int, text string)) {
	n := 0
	jsonrpc.EachElement(jsonrpc.Get(raw, list), func(part []byte) bool {
		if refusal := wire.StringOf(part, "refusal"); refusal != "" {
			a.Refused = true
			found(n, refusal)
		}
		found(n, wire.StringOf(part, "text"))
		n++
		return true
	})
}

// Message returns the message assembled from the events.
func (a *assembly) Message(broken bool) (m model.Message) {
	if !broken && len(a.items) > 0 {
		last := a.items[len(a.items)-1]
		a.show(last, last.text.End())
	}
	var phases []string
	for _, i := range a.items {
		part := a.part(i, broken || a.cut)
		if part == nil {
			continue
		}
		m.Parts = append(m.Parts, *part)
		if part.Text != "" {
			phases = append(phases, i.member("phase"))
		}
	}
	if slices.ContainsFunc(phases, func(p string) bool { return p != "" }) {
		raw, _ := json.Marshal(phases) // strings always marshal
		m.Extra = wire.Extra(a.Provider, map[string]json.RawMessage{"phases": raw})
	}
	return m
}

// part returns an item as a part, or nil if it is useless.
func (a *assembly) part(i *item, cut bool) *model.Part {
	text := i.text.String()
	switch i.kind {
	case "message":
		if strings.TrimSpace(text) != "" {
			return &model.Part{Text: text}
		}
	case "function_call":
		if c := a.made(i, cut); c != nil {
			return &model.Part{Call: c}
		}
	case "reasoning":
		r := &model.Reasoning{Text: text, Provider: a.Provider}
		if i.done && isSentBack(i.raw) {
			r.Raw = i.raw
		}
		if r.Raw != nil || strings.TrimSpace(text) != "" {
			return &model.Part{Reasoning: r}
		}
	default:
		if i.done && i.kind != "" {
			return &model.Part{Opaque: &model.Opaque{Provider: a.Provider, Raw: i.raw}}
		}
	}
	return nil
}

// made returns the call, or nil if it was cut off before it was complete.
func (a *assembly) made(i *item, cut bool) *model.Call {
	if i.id == "" || cut && (!i.done || i.member("status") == "incomplete") {
		return nil
	}
	c := &model.Call{ID: i.id, Name: i.member("name")}
	wire.SetArguments(c, i.text.String())
	if cut && c.Malformed != "" {
		return nil
	}
	c.Extra = wire.Extra(a.Provider, wire.MembersBut(i.raw, "type", "id", "call_id", "name", "arguments", "status"))
	return c
}

// Whole adds a response that was not streamed.
func (a *assembly) Whole(data []byte) {
	if jsonrpc.Get(data, "output") == nil {
		a.Complain(data)
		return
	}
	a.end(data, "completed")
}

// Event adds one event of a stream. Events without a case repeat other events, or belong to the
// provider's own tools, whose items come complete.
func (a *assembly) Event(data []byte) {
	index := wire.Number(data, "output_index")
	delta := wire.StringOf(data, "delta")
	switch kind := wire.StringOf(data, "type"); kind {
	case "response.output_item.added":
		a.open(index, jsonrpc.Get(data, "item"))
	case "response.output_item.done":
		a.close(index, jsonrpc.Get(data, "item"))
	case "response.output_text.delta":
		a.add(index, "message", delta)
	case "response.refusal.delta":
		a.Refused = a.Refused || delta != ""
		a.add(index, "message", delta)
	case "response.reasoning_summary_text.delta":
		a.think(index, wire.Number(data, "summary_index"), delta)
	case "response.reasoning_text.delta":
		a.think(index, wire.Number(data, "content_index"), delta)
	case "response.function_call_arguments.delta":
		a.add(index, "function_call", delta)
	case "response.completed", "response.incomplete", "response.failed":
		a.end(jsonrpc.Get(data, "response"), strings.TrimPrefix(kind, "response."))
	case "error":
		a.Complain(data)
	default:
		a.note(jsonrpc.Get(data, "response"))
	}
}

// note records the model and the token counts of a response.
func (a *assembly) note(response []byte) {
	a.Model = cmp.Or(wire.StringOf(response, "model"), a.Model)
	u := jsonrpc.Get(response, "usage")
	input, output := wire.Number(u, "input_tokens"), wire.Number(u, "output_tokens")
	if input+output == 0 {
		return
	}
	details := jsonrpc.Get(u, "input_tokens_details")
	a.Usage = &model.Usage{
		Input: input, Output: output,
		CacheRead: min(wire.Number(details, "cached_tokens"), input), CacheWrite: min(wire.Number(details, "cache_write_tokens"), input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "output_tokens_details"), "reasoning_tokens"), output),
	}
}

// end adds the complete response, which ends the answer. Its items are used if no event had any.
func (a *assembly) end(response []byte, status string) {
	a.note(response)
	status = cmp.Or(wire.StringOf(response, "status"), status)
	a.Reason = cmp.Or(wire.StringOf(jsonrpc.Get(response, "incomplete_details"), "reason"), status)
	a.cut, a.Done = status == "incomplete", true
	if fault := jsonrpc.Get(response, "error"); status == "failed" || len(fault) > 0 && fault[0] == '{' {
		a.Complain(response)
	}
	if len(a.items) == 0 {
		index := 0
		jsonrpc.EachElement(jsonrpc.Get(response, "output"), func(raw []byte) bool {
			a.close(index, raw)
			index++
			return a.Fault == ""
		})
	}
	a.Begun = a.Begun || a.Complaint == nil
}
