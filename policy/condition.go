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
	// maxCondition is the largest length of a condition in bytes.
	maxCondition = 4 << 10
	// maxCost is the largest cost of one evaluation of a condition in units of CEL: one for each
	// operation, and one for each ten bytes of text that it reads.
	maxCost = 200_000
)

// condition is the compiled When of a rule. It is safe for concurrent use.
type condition struct {
	program   cel.Program
	variables map[string]bool // names of the variables that it uses
	args      bool            // whether it uses args
	groups    bool            // whether it uses principal.groups
	hasGroups bool            // whether it uses has(principal.groups)
	whole     bool            // whether it uses args in any way except for a member, for the presence of members, or for their number
	needs     []string        // members of args whose presence the condition requires, for example by has(args.NAME) && …
}

// compileCondition compiles a condition. It returns faults as problems that do not name a rule.
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
	c.groups, c.hasGroups = usesGroups(checked.NativeRep())
	return c, nil
}

// source is the text of a condition without snippets for errors. The library copies the whole line
// into each error, which would take gigabytes for thousands of errors in one long line.
type source struct{ common.Source }

// Snippet returns no text.
func (source) Snippet(int) (string, bool) { return "", false }

func conditionFault(format string, args ...any) []*Problem {
	return []*Problem{{Field: "when", Err: fmt.Errorf(format, args...)}}
}

// uses reports whether the condition uses any of the variables.
func (c *condition) uses(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.variables[name] })
}

// usesGroups reports whether a condition uses the groups of the caller, and whether it tests for
// them with has.
func usesGroups(condition *ast.AST) (uses, has bool) {
	ast.PostOrderVisit(condition.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind {
			of := e.AsSelect().Operand()
			if e.AsSelect().FieldName() == memberGroups && of.Kind() == ast.IdentKind && of.AsIdent() == variablePrincipal {
				uses, has = true, has || e.AsSelect().IsTestOnly()
			}
		}
	}))
	return uses, has
}

// isLinear reports whether the condition consists of comparisons only. Such a condition reads each
// argument at most once for each time it names it. Its cost is not counted, because counting would
// take as long as the evaluation.
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

// needs returns the members of args that must be present for the expression to be true, according
// to its tests with has.
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

// isTrue evaluates the condition. The limits of its cost also limit its time.
func (c *condition) isTrue(ctx context.Context, f *facts) (bool, error) {
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

// withRemedy returns an error with the message, and adds the remedy if the message is about an
// unknown name.
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
		message += "; annotations has readOnly, destructive, idempotent and openWorld, and principal has subject, issuer, scopes and groups"
	}
	return errors.New(message)
}

// maxRegex is the largest number of parts of a regular expression. A repetition such as a{100}
// counts a hundred times.
const maxRegex = 1_000

// regexCheck checks conditions when they are compiled. It requires that each pattern of matches is
// a literal, so that its size is known before it is compiled. A pattern of one kilobyte can become
// megabytes.
type regexCheck struct{}

// Name returns the name under which the library lists the check.
func (regexCheck) Name() string { return "policy.regex" }

// Validate checks every call of matches in a condition.
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

// regexSize returns the number of parts of an expression with its repetitions expanded.
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
