package policy

import (
	"runtime"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// The variables of conditions.
const (
	variableMethod      = "method"
	variableServer      = "server"
	variableTool        = "tool"
	variableTitle       = "title"
	variableArgs        = "args"
	variableAnnotations = "annotations"
	variableResource    = "resource"
	variablePrincipal   = "principal"
	variableLabels      = "labels"
	variableSources     = "sources"
	variableTrusted     = "trusted"
	variableClient      = "client"
	variableProfile     = "profile"
	variableNow         = "now"
)

// variables lists all variables of conditions: their types and their values for a call.
var variables = []struct {
	name  string
	kind  *cel.Type
	value func(*facts) any
}{
	{variableMethod, cel.StringType, func(f *facts) any { return types.String(f.in.method()) }},
	{variableServer, cel.StringType, func(f *facts) any { return types.String(f.in.Server) }},
	{variableTool, cel.StringType, func(f *facts) any { return types.String(f.in.Tool) }},
	{variableTitle, cel.StringType, func(f *facts) any { return types.String(f.in.Title) }},
	{variableArgs, cel.MapType(cel.StringType, cel.DynType), func(f *facts) any { return types.NewStringInterfaceMap(types.DefaultTypeAdapter, f.arguments) }},
	{variableAnnotations, cel.ObjectType(annotationsType), func(f *facts) any { return &f.in.Annotations }},
	{variableResource, cel.StringType, func(f *facts) any { return types.String(f.in.Resource) }},
	{variablePrincipal, cel.ObjectType(principalType), func(f *facts) any { return &caller{f.in.Principal, f.unknownGroups()} }},
	{variableLabels, cel.ListType(cel.StringType), func(f *facts) any { return types.NewStringList(types.DefaultTypeAdapter, f.in.Labels) }},
	{variableSources, cel.ListType(cel.StringType), func(f *facts) any { return types.NewStringList(types.DefaultTypeAdapter, f.in.Sources) }},
	{variableTrusted, cel.BoolType, func(f *facts) any { return types.Bool(f.in.Trusted) }},
	{variableClient, cel.StringType, func(f *facts) any { return types.String(f.in.Client) }},
	{variableProfile, cel.StringType, func(f *facts) any { return types.String(f.in.Profile) }},
	{variableNow, cel.TimestampType, func(f *facts) any { return types.Timestamp{Time: f.in.now()} }},
}

// memberGroups is the name of the member of principal with the groups of the user.
const memberGroups = "groups"

// A caller is the value of principal.
type caller struct {
	Principal
	unknown *types.Unknown // mark of unknown groups; nil if they are known
}

// groups returns the groups, or the mark of unknown ones.
func (c *caller) groups() any {
	if c.unknown != nil {
		return c.unknown
	}
	return c.Groups
}

// The types of variables with members. An unknown member is an error of the compiler.
const (
	annotationsType = "Annotations"
	principalType   = "Principal"
)

const (
	// maxLoops is the largest depth of nested loops in a condition.
	maxLoops = 2
	// maxNesting is the largest depth of parentheses and lists in a condition.
	maxNesting = 100
	// maxReported is the largest number of reported faults of a condition.
	maxReported = 8
)

// newEnvironment returns the CEL environment of conditions. Its functions have no side effects, so
// a decision depends only on its input.
func newEnvironment() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(registry),
		cel.CustomTypeProvider(&provider{registry, memberTypes()}),
		cel.Function("glob", cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(text, pattern ref.Val) ref.Val {
				return types.Bool(matchGlob(string(pattern.(types.String)), string(text.(types.String))))
			}))),
		cel.Function("under", cel.Overload("under_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(path, root ref.Val) ref.Val {
				within, err := underOn(runtime.GOOS, string(path.(types.String)), string(root.(types.String)))
				if err != nil {
					return types.WrapErr(err)
				}
				return types.Bool(within)
			}))),
		cel.Function("host", cel.Overload("host_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(address ref.Val) ref.Val {
				host, err := hostOf(string(address.(types.String)))
				if err != nil {
					return types.WrapErr(err)
				}
				return types.String(host)
			}))),
		// The only function from CEL's library of strings. Others, such as replace and join, make
		// gigabytes of text before their price is known.
		cel.Function("lowerAscii", cel.MemberOverload("string_lower_ascii", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(text ref.Val) ref.Val {
				return types.String(strings.Map(func(r rune) rune {
					if 'A' <= r && r <= 'Z' {
						r += 'a' - 'A'
					}
					return r
				}, string(text.(types.String))))
			}))),
		// All standard macros except map, which makes new lists. A condition only reads values.
		cel.ClearMacros(), cel.Macros(cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.FilterMacro),
		cel.CrossTypeNumericComparisons(true), // JSON has one kind of number
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserErrorRecoveryLimit(maxReported),
		cel.ASTValidators(regexCheck{}, cel.ValidateComprehensionNestingLimit(maxLoops)),
	}
	for _, v := range variables {
		options = append(options, cel.Variable(v.name, v.kind))
	}
	return cel.NewEnv(options...)
}

// price computes the cost of calls for the limit of a condition. The library prices a call by the
// types of its arguments, which are unknown when a condition is compiled. So price uses the actual
// arguments.
type price struct{}

// CallCost returns the price of one call. Nil means the library's price.
func (price) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	var sizes [3]uint64
	var all uint64
	for i, arg := range args[:min(len(args), len(sizes))] {
		switch v := arg.(type) {
		case types.String:
			sizes[i] = uint64(len(v)) // in bytes
		case types.Bytes:
			sizes[i] = uint64(len(v))
		case traits.Lister:
			n, _ := v.Size().(types.Int)
			sizes[i] = uint64(n)
		}
		all += sizes[i]
	}
	if all == 0 || function == operators.Equals || function == operators.NotEquals {
		return nil
	}
	cost := 1 + all/10
	switch function {
	case "glob", overloads.Matches:
		cost += sizes[0] * sizes[1] / 10
	case operators.Add: // the result is a new value
		cost += all / 2
	}
	return &cost
}

// provider returns the members of this package's types, and uses a registry for all other types.
type provider struct {
	*types.Registry
	members map[string]map[string]*types.FieldType
}

// FindStructType returns the type with the name.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.members[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldType returns a member of the type with the name.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, found := p.members[name]; found {
		f, found := fields[field]
		return f, found
	}
	return p.Registry.FindStructFieldType(name, field)
}

func memberTypes() map[string]map[string]*types.FieldType {
	return map[string]map[string]*types.FieldType{
		annotationsType: {
			"readOnly":    hint(func(a *Annotations) *bool { return a.ReadOnly }, false),
			"destructive": hint(func(a *Annotations) *bool { return a.Destructive }, true),
			"idempotent":  hint(func(a *Annotations) *bool { return a.Idempotent }, false),
			"openWorld":   hint(func(a *Annotations) *bool { return a.OpenWorld }, true),
		},
		principalType: {
			"subject":    field(cel.StringType, func(c *caller) any { return c.Subject }, func(c *caller) bool { return c.Subject != "" }),
			"issuer":     field(cel.StringType, func(c *caller) any { return c.Issuer }, func(c *caller) bool { return c.Issuer != "" }),
			"scopes":     field(cel.ListType(cel.StringType), func(c *caller) any { return c.Scopes }, func(c *caller) bool { return len(c.Scopes) > 0 }),
			memberGroups: field(cel.ListType(cel.StringType), (*caller).groups, func(c *caller) bool { return len(c.Groups) > 0 || c.unknown != nil }),
		},
	}
}

// hint returns the type of a member of Annotations. unsaid is the value if the server does not set
// the hint, which is the specification's default.
func hint(of func(*Annotations) *bool, unsaid bool) *types.FieldType {
	value := func(a *Annotations) any {
		if said := of(a); said != nil {
			return *said
		}
		return unsaid
	}
	return field(cel.BoolType, value, func(a *Annotations) bool { return of(a) != nil })
}

func field[T any](t *cel.Type, get func(*T) any, has func(*T) bool) *types.FieldType {
	return &types.FieldType{
		Type:    t,
		IsSet:   func(target any) bool { v, ok := target.(*T); return ok && has(v) },
		GetFrom: func(target any) (any, error) { return get(target.(*T)), nil },
	}
}
