package archtest

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fragmentFree lists the folders in which only the writer writes JSON.
var fragmentFree = []string{"mcp", "internal", "gateway", "config"}

// writerFiles are the exceptions: the writer, and the text it writes.
var writerFiles = []string{"internal/jsonrpc/writer.go", "internal/jsonrpc/text.go"}

// Code that joins fragments of JSON may forget an escape. A server could then end a message in the
// middle and begin another.
func TestJSONIsWrittenByTheWriter(t *testing.T) {
	for _, s := range sources(t) {
		in := slices.ContainsFunc(fragmentFree, func(folder string) bool { return below(s.path, folder) })
		if in && !s.isTest && !slices.Contains(writerFiles, s.path) {
			for _, p := range fragments(s.file) {
				t.Errorf("%s: a fragment of JSON is joined to others: use jsonrpc.Writer", files.Position(p))
			}
		}
	}
}

// fragments finds code that joins fragments of JSON. It reports string literals that are part of an
// object, except in comparisons, searches and errors, and appended punctuation.
func fragments(file *ast.File) []token.Pos {
	harmless := map[ast.Node]bool{}
	var at []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause, *ast.Field:
			markHarmless(harmless, n)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				markHarmless(harmless, n)
			}
		case *ast.CallExpr:
			if reads(n) {
				for _, argument := range n.Args {
					harmless[argument] = true
					markHarmless(harmless, argument)
				}
			}
			if name(n.Fun) == "append" && slices.ContainsFunc(n.Args[1:], isPunctuation) {
				at = append(at, n.Pos())
			}
		case *ast.CompositeLit:
			if array, ok := n.Type.(*ast.ArrayType); ok && name(array.Elt) == "byte" && slices.ContainsFunc(n.Elts, isPunctuation) {
				at = append(at, n.Pos())
			}
		case *ast.BasicLit:
			if !harmless[n] && isFragment(n) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// markHarmless marks the literals directly in n: in a case only its expressions, not the
// statements.
func markHarmless(harmless map[ast.Node]bool, n ast.Node) {
	mark := func(n ast.Node) {
		if n == nil {
			return
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok {
				harmless[literal] = true
			}
			return true
		})
	}
	switch n := n.(type) {
	case *ast.CaseClause:
		for _, e := range n.List {
			mark(e)
		}
	case *ast.Field:
		if n.Tag != nil {
			mark(n.Tag)
		}
	default:
		mark(n)
	}
}

// reads reports whether the call only compares its arguments or prints them.
func reads(call *ast.CallExpr) bool {
	called := name(call.Fun)
	for _, prefix := range []string{"Contains", "Index", "LastIndex", "HasPrefix", "HasSuffix", "Cut", "Trim", "Errorf", "MustCompile"} {
		if strings.HasPrefix(called, prefix) {
			return true
		}
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && name(selector.X) == "errors"
}

// name returns the last part of the name that an expression is, or "".
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func isFragment(literal *ast.BasicLit) bool {
	text, err := strconv.Unquote(literal.Value)
	if err != nil || literal.Kind != token.STRING || json.Valid([]byte(text)) {
		return false
	}
	return strings.Contains(text, `":`) || strings.HasPrefix(text, `{"`) || strings.HasPrefix(text, `,"`)
}

// isPunctuation reports whether a character or string only consists of characters around JSON
// values. The empty object and the empty array are values.
func isPunctuation(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.CHAR && literal.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(literal.Value)
	return err == nil && strings.Trim(text, `{}[],:"`) == "" && strings.ContainsAny(text, `{}[]:`) && !json.Valid([]byte(text))
}
