package policy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

const (
	// maxCondition is the maximum length of a condition, in bytes.
	maxCondition = 4 << 10
	// maxCost is the maximum cost of one evaluation of a condition, in the units of CEL: one for
	// each operation, and one for ten bytes of text that it reads.
	maxCost = 200_000
)

// condition is the When of a rule. It is safe for concurrent use.
type condition struct {
	program   cel.Program
	variables map[string]bool // the variables that it uses
	args      bool            // is set if it uses args
	whole     bool            // is set if it uses args other than for a member, for the presence of one, or for their number
	needs     []string        // lists members of args without which it is false: has(args.NAME) && …
}

// compileCondition returns the faults of a condition as problems without a rule.
func compileCondition(env *cel.Env, text string) (*condition, []*Problem) {
	if len(text) > maxCondition {
		return nil, conditionFault("has %d bytes, more than %d; split it into several rules", len(text), maxCondition)
	}
	checked, issues := env.CompileSource(source{common.NewTextSource(text)})
	if found := issues.Errors(); len(found) > 0 {
		var faults []*Problem
		for _, e := range found[:min(len(found), maxReported)] {
			faults = append(faults, &Problem{Field: "when", Line: e.Location.Line(), Column: e.Location.Column() + 1, Err: withRemedy(e.Message)})
		}
		return nil, faults
	}
	if out := checked.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, conditionFault("is %s, not true or false; compare it with something", cel.FormatCELType(out))
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if !isLinear(checked.NativeRep()) {
		options = append(options, cel.CostTracking(price{}), cel.CostLimit(maxCost))
	}
	program, err := env.Program(checked, options...)
	if err != nil {
		return nil, conditionFault("cannot be planned: %w", err)
	}
	c := &condition{program: program, variables: map[string]bool{}, whole: usesWhole(checked.NativeRep())}
	for _, reference := range checked.NativeRep().ReferenceMap() {
		if len(reference.OverloadIDs) == 0 && reference.Name != "" {
			c.variables[reference.Name] = true
		}
	}
	c.args, c.needs = c.uses(variableArgs), needs(checked.NativeRep().Expr())
	return c, nil
}

// source is a text that errors do not repeat: for thousands of them in one long line the library
// would take gigabytes.
type source struct{ common.Source }

// Snippet returns no text.
func (source) Snippet(int) (string, bool) { return "", false }

func conditionFault(format string, args ...any) []*Problem {
	return []*Problem{{Field: "when", Err: fmt.Errorf(format, args...)}}
}

// uses reports whether the condition uses one of some variables.
func (c *condition) uses(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.variables[name] })
}

// isLinear reports whether a condition only compares, so that it reads no argument more often than
// it names one. Counting its cost would double the cost.
func isLinear(condition *ast.AST) bool {
	linear := true
	ast.PostOrderVisit(condition.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind, ast.LiteralKind, ast.SelectKind:
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
				operators.Greater, operators.GreaterEquals, operators.In, operators.Index, overloads.Size, overloads.StartsWith, overloads.EndsWith:
			default:
				linear = false
			}
		default:
			linear = false
		}
	}))
	return linear
}

// needs returns the members of args that a condition tests with has, if it is false without any of
// them.
func needs(e ast.Expr) []string {
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.LogicalAnd {
			return append(needs(call.Args()[0]), needs(call.Args()[1])...)
		}
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() && s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == variableArgs {
			return []string{s.FieldName()}
		}
	}
	return nil
}

// holds evaluates the condition. Its cost limits its time.
func (c *condition) holds(ctx context.Context, f *facts) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("the condition was not evaluated: %w", context.Cause(ctx))
	}
	if c.args {
		if err := f.checkArguments(); err != nil {
			return false, err
		}
		if len(f.in.Unknown) == 0 && f.lacks(c.needs) {
			return false, nil
		}
		f.readArguments()
		if c.whole && f.hidden {
			return false, &unknownError{[]string{variableArgs}}
		}
	}
	value, _, err := c.program.Eval(f)
	if err != nil {
		return false, fmt.Errorf("the condition cannot be decided: %w", err)
	}
	if unknown, is := value.(*types.Unknown); is {
		looked := &unknownError{}
		for _, i := range unknown.IDs() {
			looked.names = append(looked.names, f.in.Unknown[i])
		}
		slices.Sort(looked.names)
		return false, looked
	}
	truth, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition is %s, not true or false", value.Type().TypeName())
	}
	return bool(truth), nil
}

// withRemedy adds the remedy for an unknown name.
func withRemedy(message string) error {
	switch {
	case strings.Contains(message, "undeclared reference"):
		var names []string
		for i := range variables {
			names = append(names, variables[i].name)
		}
		message += "; there are " + strings.Join(names, ", ") + ", and the functions glob, under, host and lowerAscii"
	case strings.Contains(message, "token recognition error at: '="):
		message += "; to compare, write =="
	case strings.Contains(message, "undefined field"):
		message += "; annotations has readOnly, destructive, idempotent and openWorld, and principal has subject, issuer and scopes"
	}
	return errors.New(message)
}

// maxRegex is the maximum number of parts of a regular expression; a{100} counts a hundred times.
const maxRegex = 1_000

// regexCheck is a check of conditions. Patterns of matches must be literals in the condition, so
// that their size is known before they are compiled: a pattern of one kilobyte can become
// megabytes.
type regexCheck struct{}

// Name returns the name of the check in the library.
func (regexCheck) Name() string { return "policy.regex" }

// Validate checks every call of matches.
func (regexCheck) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		arguments := call.AsCall().Args()
		pattern := arguments[len(arguments)-1]
		var text types.String
		if pattern.Kind() == ast.LiteralKind {
			text, _ = pattern.AsLiteral().(types.String)
		} else {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches must be a literal text; for other patterns use glob")
			continue
		}
		parsed, err := syntax.Parse(string(text), syntax.Perl)
		if err == nil && regexSize(parsed) > maxRegex {
			issues.ReportErrorAtID(pattern.ID(), "the pattern is too large: more than %d parts", maxRegex)
			continue
		}
		if err == nil {
			_, err = regexp.Compile(string(text))
		}
		if err != nil {
			issues.ReportErrorAtID(pattern.ID(), "the pattern is wrong: %v", err)
		}
	}
}

// regexSize counts the parts of an expression, with repetitions expanded.
func regexSize(r *syntax.Regexp) int {
	size := 1 + len(r.Rune)
	for _, part := range r.Sub {
		size += regexSize(part)
	}
	if r.Op == syntax.OpRepeat {
		size *= max(r.Min, r.Max, 1)
	}
	return size
}
