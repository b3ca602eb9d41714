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
	values  map[string]json.RawMessage
	texts   map[string]*wire.Joined
	details []*detail // of reasoning_details
}

func (e *extras) add(name string, value json.RawMessage) {
	if e.values[name] == nil && e.texts[name] == nil && !e.room() {
		return
	}
	switch {
	case name == "reasoning_details" && value[0] == '[':
		jsonrpc.EachElement(value, func(part []byte) bool {
			e.addDetail(part)
			return true
		})
	case value[0] == '"' && (strings.HasPrefix(name, "reasoning") || name == "thinking"):
		if e.texts == nil {
			e.texts = map[string]*wire.Joined{}
		}
		if e.texts[name] == nil {
			e.texts[name] = &wire.Joined{}
		}
		e.texts[name].Add(wire.String(value))
	default:
		if e.values == nil {
			e.values = map[string]json.RawMessage{}
		}
		e.values[name] = value
	}
}

// maxExtras is how many members and parts one message may have that the protocol does not know: each
// takes much more memory than bytes on the wire.
const maxExtras = 1 << 16

// room takes a place, and reports whether there was one.
func (e *extras) room() bool {
	e.count++
	return e.count <= maxExtras
}

// all returns the members, nil if there are none.
func (e *extras) all() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, value := range e.values {
		all[name] = value
	}
	for name, text := range e.texts {
		text.End()
		if text.Len() > 0 {
			all[name] = jsonrpc.AppendString(nil, text.String())
		}
	}
	if len(e.details) > 0 {
		list := []byte("[")
		for i, d := range e.details {
			if i > 0 {
				list = append(list, ',')
			}
			list = d.append(list)
		}
		all["reasoning_details"] = append(list, ']')
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// detail is one of OpenRouter's reasoning_details.
type detail struct {
	names  []string // as they came, in quotes
	values map[string]json.RawMessage
	texts  map[string]*wire.Joined
}

// addDetail takes in a piece; one of the last detail's type and index goes on
// with it.
func (e *extras) addDetail(piece []byte) {
	if last := len(e.details) - 1; last >= 0 && e.details[last].isOf(piece) {
		e.details[last].add(piece, e.room)
		return
	}
	if !e.room() {
		return
	}
	d := &detail{values: map[string]json.RawMessage{}, texts: map[string]*wire.Joined{}}
	d.add(piece, e.room)
	e.details = append(e.details, d)
}

func (d *detail) isOf(piece []byte) bool {
	index := jsonrpc.Get(piece, "index")
	return index != nil && string(index) == string(d.values[`"index"`]) &&
		string(jsonrpc.Get(piece, "type")) == string(d.values[`"type"`])
}

func (d *detail) add(piece []byte, room func() bool) {
	jsonrpc.EachMember(piece, func(quoted, value []byte) bool {
		name := string(quoted)
		old, known := d.values[name]
		if !known && !room() {
			return false
		}
		if !known {
			d.names = append(d.names, name)
		}
		if !known || string(value) != "null" {
			d.values[name] = value
		} else {
			d.values[name] = old
		}
		switch name {
		case `"text"`, `"summary"`, `"data"`:
			if d.texts[name] == nil {
				d.texts[name] = &wire.Joined{}
			}
			d.texts[name].Add(wire.String(value))
		}
		return true
	})
}

func (d *detail) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range d.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, name...), ':')
		if text := d.texts[name]; text != nil && d.values[name][0] == '"' {
			text.End()
			dst = jsonrpc.AppendString(dst, text.String())
			continue
		}
		dst = append(dst, d.values[name]...)
	}
	return append(dst, '}')
}
