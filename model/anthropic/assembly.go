package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// maxBlocks is the maximum number of blocks in an answer.
	maxBlocks = 1_024
	// maxMembers is the maximum number of members that deltas can add to in a block of unknown
	// type.
	maxMembers = 64
)

// An assembly builds an answer from the events of a stream.
type assembly struct {
	*wire.Answer
	pieces  []*piece
	byIndex map[int]*piece
	calls   int
	input   int // tokens outside the cache
}

// A piece is a block that is still being received.
type piece struct {
	kind   string
	first  json.RawMessage // the block from its start event
	call   int             // index of the call
	closed bool
	// order lists the members that deltas add to, in the order of their first delta.
	order   []string
	members map[string]*strings.Builder
	lists   map[string][]byte // array members, without their brackets
}

func (a *assembly) startBlock(index int, raw []byte) {
	if len(a.pieces) >= maxBlocks {
		a.Fault = "the answer has more than 1,024 blocks"
		return
	}
	p := &piece{kind: wire.StringOf(raw, "type"), first: slices.Clone(raw), members: map[string]*strings.Builder{}, lists: map[string][]byte{}}
	a.pieces = append(a.pieces, p)
	a.byIndex[index] = p
	switch p.kind {
	case "text":
		a.add(p, "text", wire.StringOf(raw, "text"))
	case "thinking":
		a.add(p, "thinking", wire.StringOf(raw, "thinking"))
		a.add(p, "signature", wire.StringOf(raw, "signature"))
	case "tool_use":
		p.call = a.calls
		a.calls++
		a.Emit(model.Delta{Call: &model.CallDelta{Index: p.call, ID: wire.StringOf(raw, "id"), Name: wire.StringOf(raw, "name")}})
		if input := jsonrpc.Get(raw, "input"); len(input) > 0 && string(input) != "{}" {
			a.add(p, "input", string(input))
		}
	}
}

func (a *assembly) stopBlock(index int) {
	if p := a.byIndex[index]; p != nil {
		p.closed = true
	}
}

// delta adds a delta to a block. In a block of unknown type, each text is appended to the member
// with the same name.
func (a *assembly) delta(index int, raw []byte) {
	p := a.byIndex[index]
	if p == nil || p.closed {
		return
	}
	switch wire.StringOf(raw, "type") {
	case "input_json_delta":
		a.add(p, "input", wire.StringOf(raw, "partial_json"))
		return
	case "citations_delta":
		if citation := jsonrpc.Get(raw, "citation"); len(citation) > 0 {
			if p.lists["citations"] != nil {
				p.lists["citations"] = append(p.lists["citations"], ',')
			}
			p.lists["citations"] = append(p.lists["citations"], citation...)
		}
		return
	}
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		if text, ok := jsonrpc.Unquote(value); ok && name != "type" {
			a.add(p, name, text)
		}
		return true
	})
}

// add appends text to a member and emits the text.
func (a *assembly) add(p *piece, member, text string) {
	if text == "" {
		return
	}
	b := p.members[member]
	if b == nil {
		if len(p.order) >= maxMembers {
			return
		}
		b = &strings.Builder{}
		p.members[member] = b
		p.order = append(p.order, member)
	}
	b.WriteString(text)
	switch p.kind + " " + member {
	case "text text":
		a.Text(text)
	case "thinking thinking":
		a.Reasoning(text)
	case "tool_use input":
		a.Arguments(p.call, text)
	}
}

func (p *piece) text(member string) string {
	if b := p.members[member]; b != nil {
		return b.String()
	}
	return ""
}

// whole returns the block with the deltas merged in.
func (p *piece) whole() json.RawMessage {
	raw := p.first
	for _, name := range p.order {
		value := jsonrpc.AppendString(nil, p.text(name))
		if name == "input" {
			value = []byte(p.text(name))
			if jsonrpc.Valid(value, jsonrpc.Limits{}) != nil {
				value = []byte("{}")
			}
		}
		raw = jsonrpc.With(raw, name, value)
	}
	for name, list := range p.lists {
		raw = jsonrpc.With(raw, name, append(append([]byte{'['}, list...), ']'))
	}
	return raw
}

// Message returns the message assembled from the events. If the answer was cut off, incomplete
// blocks are omitted, except texts.
func (a *assembly) Message(broken bool) (m model.Message) {
	for i, p := range a.pieces {
		cut := !p.closed || i == len(a.pieces)-1 && (broken || a.IsCut())
		if part := p.part(cut); part != nil {
			m.Parts = append(m.Parts, *part)
		}
	}
	if a.Reason != "pause_turn" || broken {
		m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return p.Opaque != nil && lacksResult(p.Opaque.Raw, m.Parts) })
	}
	return m
}

// part returns the block as a part, or nil if it is useless.
func (p *piece) part(cut bool) *model.Part {
	switch p.kind {
	case "text":
		if text := p.text("text"); strings.TrimSpace(text) != "" {
			return &model.Part{Text: text}
		}
		return nil
	case "tool_use":
		if c := p.made(cut); c != nil {
			return &model.Part{Call: c}
		}
		return nil
	case "thinking":
		r := &model.Reasoning{Text: p.text("thinking"), Provider: Provider}
		if p.text("signature") != "" {
			r.Raw = p.whole()
		}
		if r.Raw == nil && strings.TrimSpace(r.Text) == "" {
			return nil
		}
		return &model.Part{Reasoning: r}
	case "":
		return nil
	}
	if !p.closed {
		return nil
	}
	return &model.Part{Opaque: &model.Opaque{Provider: Provider, Raw: p.whole()}}
}

// made returns the call, or nil if it was cut off before its arguments were complete.
func (p *piece) made(cut bool) *model.Call {
	c := &model.Call{ID: wire.StringOf(p.first, "id"), Name: wire.StringOf(p.first, "name"), Extra: wire.Extra(Provider, wire.MembersBut(p.first, "type", "id", "name", "input"))}
	if c.ID == "" || c.Name == "" || cut && strings.TrimSpace(p.text("input")) == "" {
		return nil
	}
	wire.SetArguments(c, p.text("input"))
	if cut && (!p.closed || c.Malformed != "") {
		return nil
	}
	return c
}

// lacksResult reports whether a block calls one of the provider's own tools and the result is
// missing. The provider refuses such a call in a request.
func lacksResult(raw json.RawMessage, parts []model.Part) bool {
	if kind := wire.StringOf(raw, "type"); !strings.HasSuffix(kind, "tool_use") {
		return false
	}
	id := wire.StringOf(raw, "id")
	return !slices.ContainsFunc(parts, func(p model.Part) bool {
		return p.Opaque != nil && wire.StringOf(p.Opaque.Raw, "tool_use_id") == id
	})
}

// Whole adds a complete message from a server that does not stream.
func (a *assembly) Whole(data []byte) {
	if wire.StringOf(data, "type") != "message" {
		a.Event(data)
		return
	}
	a.start(data)
	i := 0
	jsonrpc.EachElement(jsonrpc.Get(data, "content"), func(content []byte) bool {
		a.startBlock(i, content)
		a.stopBlock(i)
		i++
		return len(a.pieces) < maxBlocks
	})
	a.Reason = wire.StringOf(data, "stop_reason")
}

// Event adds one event. It takes the event's name from the data, because some servers omit the
// event line.
func (a *assembly) Event(data []byte) {
	index := wire.Number(data, "index")
	switch wire.StringOf(data, "type") {
	case "message_start":
		a.start(jsonrpc.Get(data, "message"))
	case "content_block_start":
		a.startBlock(index, jsonrpc.Get(data, "content_block"))
	case "content_block_delta":
		a.delta(index, jsonrpc.Get(data, "delta"))
	case "content_block_stop":
		a.stopBlock(index)
	case "message_delta":
		a.Reason = cmp.Or(wire.StringOf(jsonrpc.Get(data, "delta"), "stop_reason"), a.Reason)
		a.count(jsonrpc.Get(data, "usage"))
	case "message_stop":
		a.Done = true
	case "error":
		a.Complain(data)
	}
}

func (a *assembly) start(message []byte) {
	a.Begun = true
	a.Model = wire.StringOf(message, "model")
	a.count(jsonrpc.Get(message, "usage"))
}

// count adds token counts. Later counts are totals for the whole message and omit unchanged
// numbers.
func (a *assembly) count(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if a.Usage == nil {
		a.Usage = &model.Usage{}
	}
	u := a.Usage
	u.CacheRead = max(u.CacheRead, wire.Number(raw, "cache_read_input_tokens"))
	u.CacheWrite = max(u.CacheWrite, wire.Number(raw, "cache_creation_input_tokens"))
	a.input = max(a.input, wire.Number(raw, "input_tokens"))
	u.Input = a.input + u.CacheRead + u.CacheWrite
	u.Output = max(u.Output, wire.Number(raw, "output_tokens"))
	u.Reasoning = max(u.Reasoning, wire.Number(jsonrpc.Get(raw, "output_tokens_details"), "thinking_tokens"))
}
