package policy

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// What Input.Unknown calls the server's origin, and how names of members of the arguments begin.
const (
	unknownOrigin    = "origin"
	unknownArguments = variableArgs + "."
)

// unknown is what of the call is not known and must be to say whether the rule is for its server and its tool.
func (c *compiled) unknown(in *Input) (names []string) {
	for _, name := range in.Unknown {
		if name == variableServer && c.server.kind != anything || name == variableTool && c.tool.kind != anything || name == unknownOrigin && c.rule.Origin != "" {
			names = append(names, name)
		}
	}
	return names
}

// An unknownError says that a condition looks at what is not known.
type unknownError struct{ names []string }

func (e *unknownError) Error() string { return strings.Join(e.names, ", ") + " is not known" }

// unknownVariable returns the value that stands for a variable that is not known; nil for one that is.
func (f *facts) unknownVariable(name string) any {
	switch name {
	case variableServer, variableTool, variableArgs, variableTitle, variableAnnotations, variableResource, variableTrusted, variableClient: // a member of an object cannot be taken of what is not known
		if i := slices.Index(f.in.Unknown, name); i >= 0 {
			return types.NewUnknown(int64(i), nil)
		}
	}
	return nil
}

// usesWhole reports whether a condition looks at args itself: where it compares all of it, what stands for a
// member that is not known would be compared, too.
func usesWhole(condition *ast.AST) bool {
	whole := false
	isArgs := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == variableArgs }
	var members []ast.Expr // uses of args that look at one member, at which there are, or at how many
	ast.PostOrderVisit(condition.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			members = append(members, e.AsSelect().Operand())
		case ast.ComprehensionKind:
			members = append(members, e.AsComprehension().IterRange())
		case ast.CallKind:
			call := e.AsCall()
			switch all := call.Args(); call.FunctionName() {
			case operators.Index, overloads.Size:
				if call.IsMemberFunction() {
					members = append(members, call.Target())
				} else {
					members = append(members, all[0])
				}
			case operators.In:
				members = append(members, all[1])
			}
		}
	}))
	known := map[int64]bool{}
	for _, e := range members {
		known[e.ID()] = true
	}
	ast.PostOrderVisit(condition.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		whole = whole || isArgs(e) && !known[e.ID()]
	}))
	return whole
}

var _ cel.Activation = (*facts)(nil)
