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

// unknownOrigin is the name of the server's origin in Input.Unknown, and unknownGroups that of the
// caller's groups. unknownArguments is the prefix of names of members of the arguments.
const (
	unknownOrigin    = "origin"
	unknownArguments = variableArgs + "."
	unknownGroups    = variablePrincipal + "." + memberGroups
)

// unknown returns the unknown parts of the call that the rule's server, tool or origin depends on, or
// a test with has that the evaluation of the condition cannot mark.
func (c *compiled) unknown(in *Input) (names []string) {
	for _, name := range in.Unknown {
		if name == variableServer && c.server.kind != anything || name == variableTool && c.tool.kind != anything || name == unknownOrigin && c.rule.Origin != "" ||
			name == unknownGroups && c.when != nil && c.when.hasGroups {
			names = append(names, name)
		}
	}
	return names
}

// An unknownError reports that a condition uses unknown values.
type unknownError struct{ names []string }

func (e *unknownError) Error() string { return strings.Join(e.names, ", ") + " is not known" }

// unknownVariable returns the mark for an unknown variable, or nil for a known one.
func (f *facts) unknownVariable(name string) any {
	switch name {
	case variableServer, variableTool, variableArgs, variableTitle, variableAnnotations, variableResource, variableTrusted, variableClient: // members of an unknown object cannot be read
		if i := slices.Index(f.in.Unknown, name); i >= 0 {
			return types.NewUnknown(int64(i), nil)
		}
	}
	return nil
}

// unknownGroups returns the mark for unknown groups of the caller, or nil for known ones.
func (f *facts) unknownGroups() *types.Unknown {
	if i := slices.Index(f.in.Unknown, unknownGroups); i >= 0 {
		return types.NewUnknown(int64(i), nil)
	}
	return nil
}

// usesWhole reports whether a condition uses args as a whole. A comparison of all of args would
// also compare the marks of unknown members.
func usesWhole(condition *ast.AST) bool {
	whole := false
	isArgs := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == variableArgs }
	var members []ast.Expr // uses of args for a member, for the presence of members, or for their number
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
