package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

const (
	// maxCondition bounds a condition, in bytes.
	maxCondition = 4 << 10
	// maxCost bounds one evaluation of a condition, in the units of CEL: one for each
	// operation, and one for ten bytes of text that it reads.
	maxCost = 200_000
)

// condition is the When of a rule. It is safe for concurrent use.
type condition struct {
	program   cel.Program
	variables map[string]bool // those it looks at
	args      bool            // it looks at args
	whole     bool            // it looks at args other than at a member, at whether there is one, and at their number
}

// compileCondition returns the faults of a condition as problems without a rule.
func compileCondition(env *cel.Env, text string) (*condition, []*Problem) {
	if len(text) > maxCondition {
		return nil, conditionFault("has %d bytes, more than %d; make several rules of it", len(text), maxCondition)
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
	c.args = c.uses(variableArgs)
	return c, nil
}

// source is a text that errors do not repeat: for thousands of them in one long line
// the library would take gigabytes.
type source struct{ common.Source }

// Snippet is nothing.
func (source) Snippet(int) (string, bool) { return "", false }

func conditionFault(format string, args ...any) []*Problem {
	return []*Problem{{Field: "when", Err: fmt.Errorf(format, args...)}}
}

// uses reports whether the condition looks at one of some variables.
func (c *condition) uses(names ...string) bool {
	for _, name := range names {
		if c.variables[name] {
			return true
		}
	}
	return false
}

// isLinear reports whether a condition only compares, so that it looks at no argument more often than it names one: to
// count what it costs would cost as much again.
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

// holds evaluates the condition. Its time is bounded by its cost.
func (c *condition) holds(ctx context.Context, f *facts) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("the condition was not looked at: %w", context.Cause(ctx))
	}
	if c.args {
		if err := f.readArguments(); err != nil {
			return false, err
		}
		if c.whole && f.hidden {
			return false, &unknownError{[]string{variableArgs}}
		}
	}
	value, _, err := c.program.Eval(f)
	if err != nil {
		return false, fmt.Errorf("the condition cannot be decided: %w", err)
	}
	if unknown, is := value.(*types.Unknown); is {
		return false, f.unknownError(unknown)
	}
	truth, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition is %s, not true or false", value.Type().TypeName())
	}
	return bool(truth), nil
}

// withRemedy says what to write in place of a name that is not there.
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
