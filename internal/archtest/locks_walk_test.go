package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// held is the set of locked mutexes at a position, as written there.
type held map[string]bool

// callers is the mutex that a caller may hold.
const callers = ""

// A walker follows the statements of one function in order.
type walker struct {
	*loaded
	waits summaries
	found []string
}

// block walks statements. It returns the mutexes held after them, and whether the following code is
// reachable.
func (w *walker) block(list []ast.Stmt, h held) (held, bool) {
	h = maps.Clone(h)
	for _, s := range list {
		after, goesOn := w.statement(s, h)
		if !goesOn {
			return after, false
		}
		h = after
	}
	return h, true
}

// statement walks one statement.
func (w *walker) statement(s ast.Stmt, h held) (held, bool) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return w.block(s.List, h)
	case *ast.LabeledStmt:
		return w.statement(s.Stmt, h)
	case *ast.ReturnStmt:
		w.look(s, h)
		return h, false
	case *ast.BranchStmt:
		return h, false
	case *ast.DeferStmt:
		if _, unlocks := w.mutex(s.Call, "Unlock", "RUnlock"); !unlocks {
			w.look(s.Call, h)
		}
		return h, true
	case *ast.GoStmt:
		for _, argument := range s.Call.Args {
			w.look(argument, h)
		}
		if literal, ok := s.Call.Fun.(*ast.FuncLit); ok {
			w.block(literal.Body.List, held{})
		}
		return h, true
	case *ast.IfStmt:
		w.look(s.Init, h)
		w.look(s.Cond, h)
		return w.branches(h, s.Else == nil, s.Body, s.Else)
	case *ast.ForStmt:
		w.look(s.Init, h)
		w.look(s.Cond, h)
		w.look(s.Post, h)
		return w.branches(h, true, s.Body)
	case *ast.RangeStmt:
		w.look(s.X, h)
		if _, channel := w.info.TypeOf(s.X).Underlying().(*types.Chan); channel {
			w.report(s.Pos(), h, "a channel")
		}
		return w.branches(h, true, s.Body)
	case *ast.SwitchStmt:
		w.look(s.Init, h)
		w.look(s.Tag, h)
		return w.branches(h, true, clauses(s.Body)...)
	case *ast.TypeSwitchStmt:
		w.look(s.Init, h)
		w.look(s.Assign, h)
		return w.branches(h, true, clauses(s.Body)...)
	case *ast.SelectStmt:
		bodies := clauses(s.Body)
		if !slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return c.(*ast.CommClause).Comm == nil }) {
			w.report(s.Pos(), h, "a channel")
		}
		return w.branches(h, false, bodies...)
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			if mutex, locks := w.mutex(call, "Lock", "RLock"); locks {
				h = maps.Clone(h)
				h[mutex] = true
				return h, true
			}
			if mutex, unlocks := w.mutex(call, "Unlock", "RUnlock"); unlocks {
				h = maps.Clone(h)
				delete(h, mutex)
				return h, true
			}
			if name(call.Fun) == "panic" {
				return h, false
			}
		}
	}
	w.look(s, h)
	return h, true
}

// branches walks alternatives: after them the mutexes of any of them may be held.
func (w *walker) branches(h held, passed bool, bodies ...ast.Stmt) (held, bool) {
	after, reached := held{}, passed
	if passed {
		maps.Copy(after, h)
	}
	for _, body := range bodies {
		if body == nil {
			continue
		}
		if left, goesOn := w.statement(body, h); goesOn {
			maps.Copy(after, left)
			reached = true
		}
	}
	return after, reached
}

func clauses(body *ast.BlockStmt) []ast.Stmt {
	var bodies []ast.Stmt
	for _, c := range body.List {
		switch c := c.(type) {
		case *ast.CaseClause:
			bodies = append(bodies, &ast.BlockStmt{List: c.Body})
		case *ast.CommClause:
			bodies = append(bodies, &ast.BlockStmt{List: c.Body})
		}
	}
	return bodies
}

// mutex returns the mutex on which the call calls one of the methods.
func (w *walker) mutex(call *ast.CallExpr, methods ...string) (string, bool) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(methods, selector.Sel.Name) {
		return "", false
	}
	f, ok := w.info.Uses[selector.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "sync" {
		return "", false
	}
	return types.ExprString(selector.X), true
}

// look walks a node without statements and reports operations that wait. Function literals run
// where they are passed on or called.
func (w *walker) look(n ast.Node, h held) {
	if n == nil || n == ast.Stmt(nil) {
		return
	}
	literals := map[*ast.FuncLit]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if literals[n] {
				w.block(n.Body.List, h)
			} else {
				w.block(n.Body.List, held{})
			}
			return false
		case *ast.SendStmt:
			w.report(n.Pos(), h, "a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				w.report(n.Pos(), h, "a channel")
			}
		case *ast.CallExpr:
			if w.runsNow(n) {
				for _, e := range append(slices.Clone(n.Args), n.Fun) {
					if literal, ok := e.(*ast.FuncLit); ok {
						literals[literal] = true
					}
				}
			}
			if what := w.waitsFor(n); what != "" {
				w.report(n.Pos(), h, what)
			}
		}
		return true
	})
}

func (w *walker) report(at token.Pos, h held, what string) {
	if len(h) == 0 {
		return
	}
	what += " at " + position(at)
	if !h[callers] {
		what = strings.Join(slices.Sorted(maps.Keys(h)), ", ") + " is held across " + what
	}
	w.found = append(w.found, what)
}

// runsNow reports whether a function literal passed to the call runs before it returns.
func (w *walker) runsNow(call *ast.CallExpr) bool {
	switch name(call.Fun) {
	case "Go", "AfterFunc", "OnceFunc", "OnceValue", "OnceValues", "Cleanup", "AddCleanup":
		return false
	}
	return true
}

// waitsFor returns the operation that the call may wait for, or "".
func (w *walker) waitsFor(call *ast.CallExpr) string {
	if w.info.Types[call.Fun].IsType() {
		return ""
	}
	switch callee := w.callee(call.Fun).(type) {
	case *types.Var:
		if w.isCallback(callee) {
			return "the callback " + callee.Name()
		}
	case *types.Func:
		if selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && computes(w.info.TypeOf(selector.X)) {
			return ""
		}
		return w.waitsForFunc(callee)
	}
	return ""
}

// computes reports whether the type is an interface whose methods only compute.
func computes(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && slices.Contains([]string{"hash", "crypto/cipher", "context", "reflect"}, named.Obj().Pkg().Path())
}

// callee returns the called function, or the variable that holds it.
func (w *walker) callee(fun ast.Expr) types.Object {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return w.info.Uses[fun]
	case *ast.SelectorExpr:
		return w.info.Uses[fun.Sel]
	case *ast.IndexExpr:
		return w.callee(fun.X)
	case *ast.IndexListExpr:
		return w.callee(fun.X)
	}
	return nil
}

// isCallback reports whether the variable can hold a foreign function. The functions that end a
// context do not wait.
func (w *walker) isCallback(v *types.Var) bool {
	if named, ok := v.Type().(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context" {
		return false
	}
	return !w.literals[v] // a literal of the enclosing function is walked in its place
}

// ioPackages lists packages whose functions and methods do I/O or wait.
var ioPackages = []string{"net", "net/http", "os", "os/exec", "bufio", "io", "log/slog"}

// quick lists functions and methods of those packages, and of interfaces, that do neither.
var quick = []string{
	"Error", "Err", "Done", "Value", "Deadline", "Cause", "String", "Unwrap", "Is", "As", "Size", "Buffered", "Get", "Set", "Add", "Del", "Values", "Clone",
	"NewReader", "NewWriter", "NewReaderSize", "NewWriterSize", "NewScanner", "LimitReader", "NopCloser", "MultiReader", "TeeReader", "StatusText", "CanonicalHeaderKey",
	"NewRequest", "NewRequestWithContext", "Header", "WithContext", "Context", "Network", "ParseIP", "NewResponseController", "Reset",
	"MaxBytesReader", "Getenv", "LookupEnv", "Getpid", "Default", "Any", "Int", "Duration", "Bool", "Group",
}

func (w *walker) waitsForFunc(f *types.Func) string {
	if f.Pkg() == nil || slices.Contains(quick, f.Name()) {
		return ""
	}
	path, receiver := f.Pkg().Path(), f.Signature().Recv()
	switch {
	case receiver != nil && types.IsInterface(receiver.Type()):
		return "the method " + f.Name() + " of whatever is behind " + types.TypeString(receiver.Type(), (*types.Package).Name)
	case path == "time" && f.Name() == "Sleep", path == "sync" && f.Name() == "Wait" && !strings.Contains(f.FullName(), "Cond"):
		return "a wait (" + f.FullName() + ")"
	case slices.Contains(ioPackages, path):
		return "I/O (" + f.FullName() + ")"
	}
	if reached := w.waits[shortName(f)]; reached != "" {
		return shortName(f) + ", which reaches " + reached
	}
	return ""
}
