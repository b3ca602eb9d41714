package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Reach is how far a suggested rule extends beyond the call that it is about.
type Reach int

const (
	// ThisCall matches the same tool with the same arguments, or the same resource.
	ThisCall Reach = iota
	// ThisTool matches the same tool with any arguments. For other requests, it matches the same
	// method at the same server.
	ThisTool
	// ReadOnlyTools matches the tools of the same server that claim to be read-only.
	ReadOnlyTools
	// ThisServer matches every tool of the same server. For other requests, it matches the same
	// method at the same server.
	ThisServer
)

// Scope describes the rule to suggest.
type Scope struct {
	Reach Reach
	// Effect is the effect of the rule; empty means Allow.
	Effect Effect
	// Under is used with ThisCall. It maps names of arguments to folders that must contain the path
	// in the argument, or all paths if the argument is a list.
	Under map[string]string
	// Free is used with ThisCall. It lists arguments that may have any value. All arguments that
	// are neither in Free nor in Under must be the same, and further arguments are not allowed.
	Free []string
}

// ErrNotSuggested reports that no rule with the scope fits the call.
var ErrNotSuggested = errors.New("no such rule fits this call")

// Suggest returns the shortest rule with the scope that matches a call, for answers such as
// "always" and "never". The rule compiles, and alone it gives the call the effect. The error wraps
// [ErrNotSuggested] if no rule fits: the tool does not claim to be read-only, an argument is not
// under its folder, or there are too many arguments.
func Suggest(in Input, s Scope) (Rule, error) {
	rule := Rule{Effect: s.Effect, Server: escapePattern(in.Server), Tool: "*"}
	if rule.Effect == "" {
		rule.Effect = Allow
	}
	if rule.Effect == Allow {
		rule.Origin = in.Origin // a rule that denies applies to every server of that name
	}
	var terms []string
	if in.Server == "" {
		terms = append(terms, variableServer+` == ""`) // an empty pattern would match any server
	}
	if in.Tool == "" {
		rule.Tool = ""
		terms = append(terms, variableMethod+" == "+strconv.Quote(in.method()))
	}
	switch s.Reach {
	case ThisCall:
		more, err := sameCall(&in, s)
		if err != nil {
			return Rule{}, err
		}
		rule.Tool, terms = escapePattern(in.Tool), append(terms, more...)
	case ThisTool:
		rule.Tool = escapePattern(in.Tool)
	case ReadOnlyTools:
		terms = append(terms, variableAnnotations+".readOnly")
	}
	rule.When = strings.Join(terms, " && ")
	// The rule must decide whatever the default is.
	other := Deny
	if rule.Effect == Deny {
		other = Allow
	}
	p, err := Compile([]Rule{rule}, Options{Default: other})
	if err != nil {
		return rule, notSuggested("%v", err)
	}
	if d := p.Decide(context.Background(), in); d.Default || d.Effect != rule.Effect {
		return rule, notSuggested("its condition is not true for this call: %s", rule.When)
	}
	return rule, nil
}

func notSuggested(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotSuggested}, args...)...)
}

// sameCall returns terms of a condition that are true for the same call.
func sameCall(in *Input, s Scope) ([]string, error) {
	facts := facts{in: &Input{Arguments: in.Arguments}}
	if err := facts.checkArguments(); err != nil {
		return nil, notSuggested("%v", err)
	}
	facts.readArguments()
	arguments := facts.arguments
	var terms []string
	if in.Resource != "" {
		terms = append(terms, variableResource+" == "+strconv.Quote(in.Resource))
	}
	if len(s.Under)+len(s.Free) == 0 {
		if in.Tool == "" && len(arguments) == 0 {
			return terms, nil
		}
		all, err := literal(arguments)
		return append(terms, variableArgs+" == "+all), err
	}
	names := slices.Sorted(maps.Keys(arguments))
	for _, name := range names {
		folder, below := s.Under[name]
		_, isList := arguments[name].([]any)
		switch {
		case slices.Contains(s.Free, name):
		case below && isList:
			terms = append(terms, argument(name)+".all(path, under(path, "+strconv.Quote(folder)+"))")
		case below:
			terms = append(terms, "under("+argument(name)+", "+strconv.Quote(folder)+")")
		default:
			text, err := literal(arguments[name])
			if err != nil {
				return nil, err
			}
			terms = append(terms, argument(name)+" == "+text)
		}
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
	}
	return append(terms, variableArgs+".all(name, name in ["+strings.Join(quoted, ", ")+"])"), nil
}

// identifier matches a name that may follow a dot. It also matches the reserved words of CEL's
// grammar, which reserved lists.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

// argument returns the CEL expression for an argument.
func argument(name string) string {
	if identifier.MatchString(name) && !slices.Contains(reserved, name) {
		return variableArgs + "." + name
	}
	return variableArgs + "[" + strconv.Quote(name) + "]"
}

// literal returns a value of [facts] as a CEL literal. Go's quoting of valid UTF-8 is also valid in
// CEL, and makes invisible characters visible.
func literal(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "null", nil
	case uint64:
		return strconv.FormatUint(v, 10) + "u", nil
	case float64:
		if math.IsInf(v, 0) {
			return "", notSuggested("a number of the arguments is out of range")
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text, nil
	case string:
		return strconv.Quote(v), nil
	case []any:
		parts, err := literals(v, func(element any) (string, any) { return "", element })
		return "[" + parts + "]", err
	case map[string]any:
		parts, err := literals(slices.Sorted(maps.Keys(v)), func(name string) (string, any) { return strconv.Quote(name) + ": ", v[name] })
		return "{" + parts + "}", err
	}
	return fmt.Sprint(v), nil // true, false, or an integer
}

// literals returns the elements of a CEL list or map, separated by commas.
func literals[E any](of []E, each func(E) (before string, value any)) (string, error) {
	var parts []string
	for _, e := range of {
		before, value := each(e)
		text, err := literal(value)
		if err != nil {
			return "", err
		}
		parts = append(parts, before+text)
	}
	return strings.Join(parts, ", "), nil
}
