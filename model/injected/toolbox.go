package injected

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// toolbox knows the tools of a request by every name a model may give them, and
// makes calls of what it wrote.
type toolbox struct {
	exact map[string]*tool
	// folded and tails are by the name without case and punctuation, and by what
	// follows the server's name in it; nil where two tools share it.
	folded, tails map[string]*tool
	lastID        int
}

type tool struct {
	name       string
	properties []property
}

type property struct {
	name   string
	schema json.RawMessage
}

// newToolbox takes the tools that are offered, and the conversation, whose ids
// are used already.
func newToolbox(tools []model.Tool, messages []model.Message) *toolbox {
	b := &toolbox{exact: map[string]*tool{}, folded: map[string]*tool{}, tails: map[string]*tool{}}
	for i := range tools {
		t := &tool{name: tools[i].Name, properties: propertiesOf(tools[i].Schema)}
		b.exact[t.name] = t
		addUnique(b.folded, fold(t.name), t)
		if _, tail, ok := strings.Cut(t.name, "__"); ok {
			addUnique(b.tails, fold(tail), t)
		}
	}
	for i := range messages {
		for _, c := range messages[i].Calls() {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "call_")); err == nil {
				b.lastID = max(b.lastID, n)
			}
		}
	}
	return b
}

func addUnique(m map[string]*tool, name string, t *tool) {
	if _, taken := m[name]; taken {
		t = nil
	}
	m[name] = t
}

func propertiesOf(schema json.RawMessage) []property {
	var found []property
	jsonrpc.EachMember(jsonrpc.Get(schema, "properties"), func(name, value []byte) bool {
		if plain, ok := jsonrpc.Unquote(name); ok {
			found = append(found, property{plain, value})
		}
		return true
	})
	return found
}

// fold makes names equal that differ in case and punctuation.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isLetter(int(r)) && r != '_':
			return r | 0x20
		case isDigit(int(r)):
			return r
		}
		return -1
	}, name)
}

// find returns the one tool that a model means by name, or nil.
func (b *toolbox) find(name string) *tool {
	name = strings.TrimSpace(name)
	for {
		if t := b.exact[name]; t != nil {
			return t
		}
		if t := b.folded[fold(name)]; t != nil {
			return t
		}
		if t := b.tails[fold(name)]; t != nil {
			return t
		}
		short := trimAround(name)
		if short == name {
			return nil
		}
		name = short
	}
}

// trimAround takes away one of the things that models put around names: a
// namespace before, a number or a method behind.
func trimAround(name string) string {
	for _, end := range []string{".call", ".run", ".invoke"} {
		if short, ok := strings.CutSuffix(name, end); ok {
			return short
		}
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		return name[:i]
	}
	for _, start := range []string{"functions", "function", "tools", "tool", "default_api", "call"} {
		if rest, ok := strings.CutPrefix(name, start); ok && len(rest) > 1 && strings.IndexByte(".:/", rest[0]) >= 0 {
			return rest[1:]
		}
	}
	return name
}

// made returns a call with the arguments that were written, which are JSON or nil.
func (b *toolbox) made(name string, written json.RawMessage) *model.Call {
	c := b.blankCall(name)
	arguments, problem := b.object(name, written)
	if problem != "" {
		c.Malformed, c.Raw = problem, string(written)
		return c
	}
	c.Arguments = arguments
	return c
}

// malformed returns a call that says what is wrong with what was written.
func (b *toolbox) malformed(name, raw, why string) *model.Call {
	c := b.blankCall(name)
	c.Malformed, c.Raw = why, valid(raw)
	return c
}

func (b *toolbox) blankCall(name string) *model.Call {
	b.lastID++
	c := &model.Call{ID: "call_" + strconv.Itoa(b.lastID), Name: portable(name), Arguments: json.RawMessage("{}")}
	if t := b.find(name); t != nil {
		c.Name = t.name
	}
	return c
}

// portable returns the name of a tool that does not exist in a form that every
// provider takes, as it will stay in the conversation.
func portable(name string) string {
	clean := strings.Map(func(r rune) rune {
		if isLetter(int(r)) || isDigit(int(r)) || r == '-' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || !isLetter(int(clean[0])) {
		clean = "_" + clean
	}
	return clean[:min(len(clean), 64)]
}

// object returns the arguments as an object, or says why they are none.
func (b *toolbox) object(name string, written json.RawMessage) (json.RawMessage, string) {
	if inner, ok := jsonrpc.Unquote(written); ok {
		if raw, ok := readLoose(inner); ok && (isObject(raw) || string(raw) == "null") {
			return b.object(name, raw)
		}
		t := b.find(name)
		switch {
		case strings.TrimSpace(inner) == "":
			written = nil
		case t != nil && len(t.properties) == 1:
			return objectOf([]parameter{{name: t.properties[0].name, text: string(written), json: true}}), ""
		}
	}
	if len(written) == 0 || string(written) == "null" {
		return json.RawMessage("{}"), ""
	}
	if fault := jsonrpc.Valid(written, jsonrpc.Limits{}); fault != nil {
		return nil, "the arguments are not valid: " + fault.Message
	}
	if !isObject(written) {
		return nil, "the arguments are not a JSON object"
	}
	return written, ""
}

// assembled returns a call whose arguments were written one by one.
func (b *toolbox) assembled(name string, values []parameter) *model.Call {
	t := b.find(name)
	for i := range values {
		v := &values[i]
		if v.name == "" && t != nil && i < len(t.properties) {
			v.name = t.properties[i].name
		}
		if !v.json {
			v.text, v.json = string(convert(v.text, t.schemaOf(v.name))), true
		}
	}
	return b.made(name, objectOf(values))
}

// schemaOf returns the schema of a property; nil if there is none.
func (t *tool) schemaOf(name string) json.RawMessage {
	if t == nil {
		return nil
	}
	for _, p := range t.properties {
		if p.name == name {
			return p.schema
		}
	}
	return nil
}

func objectOf(values []parameter) json.RawMessage {
	out := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, v.name), ':')
		out = append(out, v.text...)
	}
	return append(out, '}')
}
