package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
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
	rounded   bool        // whether a number of them is not exactly what is compared
	hidden    bool        // whether a member of them is not known
	fault     error       // why there are no arguments
	known     []variable  // that were looked at; they are few, so that a list is faster than a map
	space     [4]variable // for known
}

// variable is one as CEL has it.
type variable struct {
	name  string
	value any
}

// ResolveName is the value of a variable.
func (f *facts) ResolveName(name string) (any, bool) {
	for i := range f.known {
		if f.known[i].name == name {
			return f.known[i].value, true
		}
	}
	v := f.variable(name)
	if v == nil {
		return nil, false
	}
	if f.known == nil {
		f.known = f.space[:0]
	}
	f.known = append(f.known, variable{name, v})
	return v, true
}

// variable is the value of a variable, or nil if there is none.
func (f *facts) variable(name string) any {
	if v := f.unknownVariable(name); v != nil {
		return v
	}
	for i := range variables {
		if variables[i].name == name {
			return variables[i].value(f)
		}
	}
	return nil
}

// Parent is nil: there is nothing else to see.
func (f *facts) Parent() cel.Activation { return nil }

// readArguments reads the arguments once, and repeats its error.
func (f *facts) readArguments() error {
	if f.arguments == nil && f.fault == nil {
		f.arguments, f.rounded, f.fault = decodeArguments(f.in.Arguments)
		f.hideArguments()
	}
	return f.fault
}

func decodeArguments(raw json.RawMessage) (arguments map[string]any, rounded bool, err error) {
	if len(raw) == 0 {
		return map[string]any{}, false, nil
	}
	if len(raw) > maxArguments {
		return nil, false, fmt.Errorf("the arguments have %d bytes, more than conditions look at (%d)", len(raw), maxArguments)
	}
	if _, fault := jsonrpc.Index(raw, jsonrpc.Limits{Depth: maxArgumentDepth}); fault != nil {
		return nil, false, fmt.Errorf("the arguments are no JSON object: %s", fault.Message)
	}
	var r reader
	arguments = r.object(raw)
	return arguments, r.rounded, nil
}

// A reader makes of checked JSON what conditions compare.
type reader struct{ rounded bool } // whether a number is not exactly what they compare

func (r *reader) object(raw []byte) map[string]any {
	members := map[string]any{}
	jsonrpc.EachMember(raw, func(name, member []byte) bool {
		text, _ := jsonrpc.Unquote(name)
		members[text] = r.value(member)
		return true
	})
	return members
}

func (r *reader) array(raw []byte) []any {
	elements := []any{}
	jsonrpc.EachElement(raw, func(element []byte) bool {
		elements = append(elements, r.value(element))
		return true
	})
	return elements
}

func (r *reader) value(raw []byte) any {
	switch raw[0] {
	case '{':
		return r.object(raw)
	case '[':
		return r.array(raw)
	case '"':
		text, _ := jsonrpc.Unquote(raw)
		return text
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	number, exact := number(string(raw))
	r.rounded = r.rounded || !exact
	return number
}

// number is an integer where 64 bits hold it, however it is written, and else a double. It is
// exact where no other number is the same to CEL, which compares integers with doubles
// as doubles.
func number(text string) (v any, exact bool) {
	decimal := jsonrpc.Decimal(text)
	digits, power, _ := strings.Cut(decimal, "e")
	if zeros, err := strconv.Atoi(cmp.Or(power, "0")); err == nil && 0 <= zeros && zeros < len("18446744073709551615") {
		digits += strings.Repeat("0", zeros)
		if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return i, true
		}
		if u, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return u, true
		}
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range it is infinite
	shortest := jsonrpc.Decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return f, shortest == decimal && f != -1<<63 && f != 1<<64
}
