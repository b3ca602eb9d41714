package policy

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// maxArguments is the largest size in bytes of arguments for conditions.
	maxArguments = 1 << 20
	// maxArgumentDepth is the largest depth of nesting in arguments.
	maxArgumentDepth = 64
)

// facts holds the values of one call for conditions. It parses the arguments when the first
// condition uses them. Only one goroutine may use it.
type facts struct {
	in        *Input
	checked   bool // whether the arguments have been checked
	arguments map[string]any
	rounded   bool        // whether a number in them was rounded
	hidden    bool        // whether the value of a member is unknown
	fault     error       // reason why conditions cannot use the arguments, or nil
	known     []variable  // values of used variables; a list, because for a few it is faster than a map
	space     [4]variable // first memory of known
}

// variable is a variable with its CEL value.
type variable struct {
	name  string
	value any
}

// ResolveName returns the value of a variable to CEL.
func (f *facts) ResolveName(name string) (any, bool) {
	for i := range f.known {
		if f.known[i].name == name {
			return f.known[i].value, true
		}
	}
	v := f.unknownVariable(name)
	for i := 0; v == nil && i < len(variables); i++ {
		if variables[i].name == name {
			v = variables[i].value(f)
		}
	}
	if v == nil {
		return nil, false
	}
	if f.known == nil {
		f.known = f.space[:0]
	}
	f.known = append(f.known, variable{name, v})
	return v, true
}

// Parent returns nil, because there is no outer activation.
func (f *facts) Parent() cel.Activation { return nil }

// checkArguments checks the arguments once. Each call returns the same error.
func (f *facts) checkArguments() error {
	raw := f.in.Arguments
	if f.checked || len(raw) == 0 {
		return f.fault
	}
	f.checked = true
	if len(raw) > maxArguments {
		f.fault = fmt.Errorf("the arguments have %d bytes, more than conditions can check (%d)", len(raw), maxArguments)
	} else if _, fault := jsonrpc.Index(raw, jsonrpc.Limits{Depth: maxArgumentDepth}); fault != nil {
		f.fault = fmt.Errorf("the arguments are not a JSON object: %s", fault.Message)
	}
	return f.fault
}

// lacks reports whether any of the members is missing in the checked arguments.
func (f *facts) lacks(names []string) bool {
	object := bytes.TrimLeft(f.in.Arguments, " \t\r\n")
	return slices.ContainsFunc(names, func(name string) bool { return jsonrpc.Get(object, name) == nil })
}

// readArguments parses the checked arguments once.
func (f *facts) readArguments() {
	if f.arguments != nil {
		return
	}
	var r reader
	if f.arguments = map[string]any{}; len(f.in.Arguments) > 0 {
		f.arguments = r.object(f.in.Arguments)
	}
	f.rounded = r.rounded
	// CEL propagates the marks of unknown members, unless the other side of && or || decides.
	for i, name := range f.in.Unknown {
		if member, is := strings.CutPrefix(name, unknownArguments); is {
			f.arguments[member], f.hidden = types.NewUnknown(int64(i), nil), true
		}
	}
}

// A reader converts checked JSON to values for conditions.
type reader struct{ rounded bool } // rounded reports whether a number was rounded

func (r *reader) object(raw []byte) map[string]any {
	members := map[string]any{}
	jsonrpc.EachMember(raw, func(name, member []byte) bool {
		text, _ := jsonrpc.Unquote(name)
		members[text] = r.value(member)
		return true
	})
	return members
}

func (r *reader) value(raw []byte) any {
	switch raw[0] {
	case '{':
		return r.object(raw)
	case '[':
		elements := []any{}
		jsonrpc.EachElement(raw, func(element []byte) bool {
			elements = append(elements, r.value(element))
			return true
		})
		return elements
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

// number returns an integer if it fits into 64 bits in any notation, and otherwise a double. exact
// reports whether no other number equals v in CEL, which compares integers with doubles as doubles.
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
	f, _ := strconv.ParseFloat(text, 64) // infinite if out of range
	shortest := jsonrpc.Decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return f, shortest == decimal && f != -1<<63 && f != 1<<64
}
