package openai

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// reasoningIn is the reasoning among the members that the protocol does not know.
// Servers that send it twice mean the same.
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

// isThought says whether Gemini marks the content as a thought.
func isThought(more map[string]json.RawMessage) bool {
	return string(jsonrpc.Get(jsonrpc.Get(more["extra_content"], "google"), "thought")) == "true"
}

// extras are the members of a message that the protocol does not know. Texts and
// lists of reasoning come in pieces; of anything else the last is the whole.
type extras struct {
	count   int // of all that has a place of its own here, and in the calls
	members pieces
	details []*pieces // of reasoning_details, as OpenRouter has them
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

// maxExtras is how many members and parts one message may have that the protocol does not know: each
// takes much more memory than bytes on the wire.
const maxExtras = 1 << 16

// room takes a place, and reports whether there was one.
func (e *extras) room() bool {
	e.count++
	return e.count <= maxExtras
}

// addDetail takes in a piece; one of the last detail's type and index goes on
// with it.
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

// all returns the members, nil if there are none.
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

// pieces is an object while it comes.
type pieces struct {
	names  []string // in the order in which they came
	values map[string]json.RawMessage
	texts  map[string]*wire.Joined
}

// add takes in a member. A text that joins goes on with the one before; of anything else the last that is
// not null counts.
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
