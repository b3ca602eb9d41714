package policy

import (
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// maxRegex bounds a regular expression, in what it has to be distinguished while it is
// matched; a{100} counts a hundred times.
const maxRegex = 1_000

// regexCheck is a check of conditions. Patterns of matches must stand in the condition
// itself, where their size is known before they are compiled: that of one kilobyte can
// be megabytes.
type regexCheck struct{}

// Name is how the library calls the check.
func (regexCheck) Name() string { return "policy.regex" }

// Validate looks at every call of matches.
func (regexCheck) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		arguments := call.AsCall().Args()
		pattern := arguments[len(arguments)-1]
		var text types.String
		if pattern.Kind() == ast.LiteralKind {
			text, _ = pattern.AsLiteral().(types.String)
		} else {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches must be written here as a text; for others there is glob")
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

// regexSize counts the parts of an expression, with repetitions written out.
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
