package injected

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// toolbox knows the tools of a request by every name a model may give them, and
// makes calls of what it wrote.
type toolbox struct {
	exact map[string]*model.Tool
	// folded is by the name without case and punctuation, and by what follows the
	// server's name in that; nil where two tools share it.
	folded map[string]*model.Tool
	lastID int // of the conversation
}

// newToolbox takes the tools that are offered, and the conversation, whose ids
// are used already.
func newToolbox(tools []model.Tool, messages []model.Message) *toolbox {
	b := &toolbox{exact: map[string]*model.Tool{}, folded: map[string]*model.Tool{}}
	for i := range tools {
		t := &tools[i]
		b.exact[t.Name] = t
		_, tail, _ := strings.Cut(t.Name, "__")
		for _, name := range []string{fold(t.Name), fold(tail)} {
			if other, taken := b.folded[name]; taken && other != t {
				b.folded[name] = nil
			} else {
				b.folded[name] = t
			}
		}
	}
	delete(b.folded, "")
	for i := range messages {
		for _, c := range messages[i].Calls() {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "call_")); err == nil {
				b.lastID = max(b.lastID, n)
			}
		}
	}
	return b
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

// fold makes names equal that differ in case and punctuation.
func fold(name string) string { return strings.ToLower(punctuation.ReplaceAllString(name, "")) }

// find returns the one tool that a model means by name, or nil.
func (b *toolbox) find(name string) *model.Tool {
	if t := b.exact[name]; t != nil {
		return t
	}
	return b.folded[fold(name)]
}

// portable returns the name of a tool that does not exist in a form that every
// provider takes, as it will stay in the conversation.
func portable(name string) string { return model.NewNames().Portable(name) }

// made returns a call with the arguments that were written, which are JSON or nil; an
// object may be within a string.
func (b *toolbox) made(name string, written json.RawMessage) *model.Call {
	inner, _ := jsonrpc.Unquote(written)
	if raw, ok := readLoose(inner); ok {
		written = raw
	}
	c := &model.Call{Name: portable(name)}
	if t := b.find(name); t != nil {
		c.Name = t.Name
	}
	wire.SetArguments(c, string(written))
	return c
}

// malformed returns a call that says what is wrong with what was written.
func (b *toolbox) malformed(name, raw, why string) *model.Call {
	c := b.made(name, nil)
	c.Malformed, c.Raw = why, raw
	return c
}

// read makes calls of a value: of an object, or of a list of them. It returns nil
// unless all of it are calls. Where the model did not say that it is one, only calls
// with arguments of tools that exist count.
func (b *toolbox) read(raw json.RawMessage, tagged bool) []*model.Call {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return nil
	}
	var calls []*model.Call
	all := true
	add := func(value []byte) bool {
		c := b.readOne(value, tagged)
		calls, all = append(calls, c), c != nil
		return all && len(calls) <= maxCalls
	}
	if isObject(raw) {
		add(raw)
	} else {
		jsonrpc.EachElement(raw, add)
	}
	if !all {
		return nil
	}
	return calls
}

func (b *toolbox) readOne(raw json.RawMessage, tagged bool) *model.Call {
	name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
	var arguments json.RawMessage
	for _, key := range []string{"arguments", "parameters", "args"} {
		if arguments == nil {
			arguments = jsonrpc.Get(raw, key)
		}
	}
	name = strings.TrimSpace(name)
	if name == "" || !tagged && (b.find(name) == nil || arguments == nil || arguments[0] != '{' && arguments[0] != '"') {
		return nil
	}
	return b.made(name, arguments)
}
