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

// Reach is how far a suggested rule extends beyond the call that it is made from.
type Reach int

const (
	// ThisCall means the same tool with the same arguments, or the same resource.
	ThisCall Reach = iota
	// ThisTool means the same tool with any arguments; for a request other than a call, the same
	// method at the same server.
	ThisTool
	// ReadOnlyTools means the tools of the same server that claim to be read-only.
	ReadOnlyTools
	// ThisServer means every tool of the same server; for a request other than a call, the same
	// method.
	ThisServer
)

// Scope describes the rule to suggest.
type Scope struct {
	Reach Reach
	// Effect is that of the rule; empty means Allow.
	Effect Effect
	// Under, for ThisCall, holds the folders that path arguments, or all paths of a list, must be
	// in, by the arguments' names.
	Under map[string]string
	// Free, for ThisCall, lists names of arguments that may have any value. Those that are neither
	// here nor in Under must be the same, and further ones are not allowed.
	Free []string
}

// ErrNotSuggested reports that no rule of a scope fits a call.
var ErrNotSuggested = errors.New("no such rule fits this call")

// Suggest returns the rule that "always" or "never" would write about a call: the shortest one with
// that meaning. It was compiled, and alone it gives the call its Effect. The error wraps
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
	// The rule must decide with any default.
	other := Deny
	if rule.Effect == Deny {
		other = Allow
	}
	p, err := Compile([]Rule{rule}, Options{Default: other})
	if err != nil {
		return rule, notSuggested("%v", err)
	}
	if d := p.Decide(context.Background(), in); d.Default || d.Effect != rule.Effect {
		return rule, notSuggested("its condition is not true of this call: %s", rule.When)
	}
	return rule, nil
}

func notSuggested(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotSuggested}, args...)...)
}

// sameCall returns the terms of a condition that match the same call.
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

// identifier matches a name that may follow a dot. The list reserved excludes the reserved words of
// CEL's grammar.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

// argument returns the expression for an argument of that name.
func argument(name string) string {
	if identifier.MatchString(name) && !slices.Contains(reserved, name) {
		return variableArgs + "." + name
	}
	return variableArgs + "[" + strconv.Quote(name) + "]"
}

// literal returns a value of [facts] in CEL. Go's quoting of valid UTF-8 is also valid CEL, and
// makes invisible characters visible.
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

// literals returns the elements of an array or an object.
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
