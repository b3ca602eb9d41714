package policy

import (
	"encoding/json"
	"fmt"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// maxArguments bounds arguments that conditions look at, in bytes.
	maxArguments = 1 << 20
	// maxArgumentDepth bounds their nesting.
	maxArgumentDepth = 64
)

// facts are one call as conditions see it. Arguments are read when the first of them
// looks at them. They are for one goroutine.
type facts struct {
	in        *Input
	arguments map[string]any
	fault     error          // why there are no arguments
	known     map[string]any // variables that were looked at, as CEL has them
}

// ResolveName is the value of a variable.
func (f *facts) ResolveName(name string) (any, bool) {
	if v, found := f.known[name]; found {
		return v, true
	}
	v := f.variable(name)
	if v == nil {
		return nil, false
	}
	if f.known == nil {
		f.known = make(map[string]any, 4)
	}
	f.known[name] = v
	return v, true
}

// variable is the value of a variable, or nil if there is none.
func (f *facts) variable(name string) any {
	switch name {
	case variableMethod:
		return types.String(f.in.method())
	case variableServer:
		return types.String(f.in.Server)
	case variableTool:
		return types.String(f.in.Tool)
	case variableTitle:
		return types.String(f.in.Title)
	case variableArgs:
		return types.NewStringInterfaceMap(types.DefaultTypeAdapter, f.arguments)
	case variableAnnotations:
		return &f.in.Annotations
	case variableResource:
		return types.String(f.in.Resource)
	case variablePrincipal:
		return &f.in.Principal
	case variableLabels:
		return types.NewStringList(types.DefaultTypeAdapter, f.in.Labels)
	case variableSources:
		return types.NewStringList(types.DefaultTypeAdapter, f.in.Sources)
	case variableTrusted:
		return types.Bool(f.in.Trusted)
	case variableClient:
		return types.String(f.in.Client)
	}
	return nil
}

// Parent is nil: there is nothing else to see.
func (f *facts) Parent() cel.Activation { return nil }

// readArguments reads the arguments once, and repeats its error.
func (f *facts) readArguments() error {
	if f.arguments == nil && f.fault == nil {
		f.arguments, f.fault = decodeArguments(f.in.Arguments)
	}
	return f.fault
}

func decodeArguments(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("the arguments have %d bytes, more than conditions look at (%d)", len(raw), maxArguments)
	}
	if _, fault := jsonrpc.Index(raw, jsonrpc.Limits{Depth: maxArgumentDepth}); fault != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %s", fault.Message)
	}
	return object(raw), nil
}

// object, array and value make of checked JSON what conditions compare: integers stay
// exact where 64 bits hold them.
func object(raw []byte) map[string]any {
	members := map[string]any{}
	jsonrpc.EachMember(raw, func(name, member []byte) bool {
		text, _ := jsonrpc.Unquote(name)
		members[text] = value(member)
		return true
	})
	return members
}

func array(raw []byte) []any {
	elements := []any{}
	jsonrpc.EachElement(raw, func(element []byte) bool {
		elements = append(elements, value(element))
		return true
	})
	return elements
}

func value(raw []byte) any {
	switch raw[0] {
	case '{':
		return object(raw)
	case '[':
		return array(raw)
	case '"':
		text, _ := jsonrpc.Unquote(raw)
		return text
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	return number(string(raw))
}

func number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range it is infinite
	return f
}
