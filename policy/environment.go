package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
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
)

func variableNames() []string {
	return []string{
		variableMethod, variableServer, variableTool, variableTitle, variableArgs, variableAnnotations,
		variableResource, variablePrincipal, variableLabels, variableSources, variableTrusted, variableClient,
	}
}

// The types of variables that have members of their own: a name that is none of them
// is found when the rule is compiled.
const (
	annotationsType = "Annotations"
	principalType   = "Principal"
)

const (
	// maxRegex bounds the program that a regular expression becomes, in instructions.
	maxRegex = 1_000
	// maxLoops bounds loops inside each other in a condition.
	maxLoops = 2
	// maxNesting bounds how deep a condition's parentheses and lists are nested.
	maxNesting = 100
	// maxReported bounds the syntax errors told of one condition.
	maxReported = 8
)

// newEnvironment makes what conditions are compiled in. Nothing in it has an effect
// or knows the time, so a decision depends on its input alone.
func newEnvironment() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	strings := cel.ListType(cel.StringType)
	return cel.NewEnv(
		cel.CustomTypeAdapter(registry),
		cel.CustomTypeProvider(&provider{registry, memberTypes()}),
		cel.Variable(variableMethod, cel.StringType),
		cel.Variable(variableServer, cel.StringType),
		cel.Variable(variableTool, cel.StringType),
		cel.Variable(variableTitle, cel.StringType),
		cel.Variable(variableArgs, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(variableAnnotations, cel.ObjectType(annotationsType)),
		cel.Variable(variableResource, cel.StringType),
		cel.Variable(variablePrincipal, cel.ObjectType(principalType)),
		cel.Variable(variableLabels, strings),
		cel.Variable(variableSources, strings),
		cel.Variable(variableTrusted, cel.BoolType),
		cel.Variable(variableClient, cel.StringType),
		globFunction(), underFunction(), hostFunction(),
		ext.Strings(ext.StringsVersion(5)),
		cel.CrossTypeNumericComparisons(true), // JSON has one kind of number
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserErrorRecoveryLimit(maxReported),
		cel.RegexProgramSizeLimit(maxRegex),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(maxLoops)),
	)
}

func globFunction() cel.EnvOption {
	return cel.Function("glob", cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(text, pattern ref.Val) ref.Val {
			return types.Bool(matchGlob(string(pattern.(types.String)), string(text.(types.String))))
		})))
}

func underFunction() cel.EnvOption {
	return cel.Function("under", cel.Overload("under_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(path, root ref.Val) ref.Val {
			within, err := under(string(path.(types.String)), string(root.(types.String)))
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(within)
		})))
}

func hostFunction() cel.EnvOption {
	return cel.Function("host", cel.Overload("host_string", []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(address ref.Val) ref.Val {
			host, err := hostOf(string(address.(types.String)))
			if err != nil {
				return types.WrapErr(err)
			}
			return types.String(host)
		})))
}

// functionCost prices our own functions for the limit of a condition.
type functionCost struct{}

// CallCost is the price of one call; nil leaves it to the library.
func (functionCost) CallCost(_, overload string, args []ref.Val, _ ref.Val) *uint64 {
	switch overload {
	case "glob_string_string":
		return priced(1 + sizeOf(args[0])*(1+sizeOf(args[1]))/10)
	case "under_string_string":
		return priced(1 + (sizeOf(args[0])+sizeOf(args[1]))/10)
	case "host_string":
		return priced(1 + sizeOf(args[0])/10)
	}
	return nil
}

func priced(price uint64) *uint64 { return &price }

func sizeOf(v ref.Val) uint64 {
	s, _ := v.(types.String)
	return uint64(len(s))
}

// provider knows the members of our own types, and leaves the rest to a registry.
type provider struct {
	*types.Registry
	members map[string]map[string]*types.FieldType
}

// FindStructType finds one of our types by name.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.members[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames lists the members of a type.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	fields, found := p.members[name]
	if !found {
		return p.Registry.FindStructFieldNames(name)
	}
	var names []string
	for field := range fields {
		names = append(names, field)
	}
	return names, true
}

// FindStructFieldType finds a member of a type.
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
			"subject": field(cel.StringType, func(p *Principal) any { return p.Subject }, func(p *Principal) bool { return p.Subject != "" }),
			"issuer":  field(cel.StringType, func(p *Principal) any { return p.Issuer }, func(p *Principal) bool { return p.Issuer != "" }),
			"scopes":  field(cel.ListType(cel.StringType), func(p *Principal) any { return p.Scopes }, func(p *Principal) bool { return len(p.Scopes) > 0 }),
		},
	}
}

// hint is a member of Annotations: unsaid, it has the specification's default.
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
