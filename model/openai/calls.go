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

// maxCalls is how many calls one message may have.
const maxCalls = 256

// call is a call while its pieces come.
type call struct {
	index     int
	wireID    string // as the provider has it; may be empty
	id, name  string
	arguments wire.Joined
	emitted   bool
	extra     map[string]json.RawMessage
}

// piece is what one event says of one call.
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
	case string(arguments) != "null": // some servers send the JSON itself
		p.arguments = string(arguments)
	}
	return p
}

// toolCall takes in a piece of a call.
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

// emitCall emits a piece. The first has the name, so it waits for that.
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

// owner finds the call that a piece belongs to. The index says so, if servers keep
// to it: some send none, some the same for every call, some no id.
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
		return nil // says nothing
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

// isOver says whether a piece begins another call than the one at its place.
func (c *call) isOver(p piece) bool {
	switch {
	case p.id != "" && c.wireID != "":
		return p.id != c.wireID
	case p.name != "" && c.name != "":
		return p.name != c.name || p.arguments != "" && isObject(c.arguments.String())
	}
	return false
}

// complete says whether a call can be kept of an answer that was cut: its
// arguments are an object, or it has none and another call came behind it.
func (c *call) complete(last bool) bool {
	text := strings.TrimSpace(c.arguments.String())
	return c.name != "" && (text == "" && !last || isObject(text))
}

// isObject says whether a text is one whole object. Its ends are looked at first,
// as it may be asked after every piece.
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
