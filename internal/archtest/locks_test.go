package archtest

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutex held while foreign code runs, or while waiting for a peer, blocks all its users without a
// deadline. Two of them locked in two orders block a connection for good. There are no exceptions:
// slow operations are ordered by a turn.Turn, which is acquired with a context.
func TestNoMutexIsHeldWhileWaiting(t *testing.T) {
	found := findHeld(loadPackages(t, "./mcp/..."))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		for _, finding := range found[name] {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

// A loaded is one package with its types.
type loaded struct {
	files    []*ast.File
	info     *types.Info
	literals map[types.Object]bool // variables with function literals
}

// loadPackages type-checks our packages; those of others come compiled from the build cache.
func loadPackages(t *testing.T, patterns ...string) []*loaded {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.DepOnly}}\t{{.Dir}}\t{{join .GoFiles \",\"}}"}, patterns...)...)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]string{}
	var ours [][]string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		compiled[fields[0]] = fields[1]
		if fields[2] == "false" && len(fields) > 4 { // without the fifth it has only tests
			ours = append(ours, fields)
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) }
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup)}
	byPath := map[string]*ast.File{}
	for _, s := range sources(t) {
		byPath[s.path] = s.file
	}
	var all []*loaded
	for _, fields := range ours {
		p := &loaded{info: newInfo()}
		for name := range strings.SplitSeq(fields[4], ",") {
			p.files = append(p.files, byPath[filepath.ToSlash(filepath.Join(strings.TrimPrefix(fields[0], module+"/"), name))])
		}
		if _, err := config.Check(fields[0], files, p.files, p.info); err != nil {
			t.Fatal(err)
		}
		p.findLiterals()
		all = append(all, p)
	}
	return all
}

func newInfo() *types.Info {
	return &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
}

// findLiterals finds the variables that are defined as function literals.
func (p *loaded) findLiterals() {
	p.literals = map[types.Object]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != len(assign.Rhs) {
				return true
			}
			for i, value := range assign.Rhs {
				if _, ok := value.(*ast.FuncLit); ok {
					p.literals[p.info.Defs[assign.Lhs[i].(*ast.Ident)]] = true
				}
			}
			return true
		})
	}
}

// findHeld returns the operations of functions while they hold a mutex, by their names.
func findHeld(packages []*loaded) map[string][]string {
	waits := summaries{}
	for changed := true; changed; { // until calls reach nothing more
		changed = false
		eachFunction(packages, func(p *loaded, name string, f *ast.FuncDecl) {
			if waits[name] != "" {
				return
			}
			w := walker{loaded: p, waits: waits}
			w.block(f.Body.List, held{callers: true})
			if len(w.found) > 0 {
				waits[name], changed = w.found[0], true
			}
		})
	}
	found := map[string][]string{}
	eachFunction(packages, func(p *loaded, name string, f *ast.FuncDecl) {
		w := walker{loaded: p, waits: waits}
		w.block(f.Body.List, held{})
		if len(w.found) > 0 {
			found[name] = w.found
		}
	})
	return found
}

// summaries map the full name of a function to the operation that it waits for.
type summaries map[string]string

func eachFunction(packages []*loaded, visit func(p *loaded, name string, f *ast.FuncDecl)) {
	for _, p := range packages {
		for _, file := range p.files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					visit(p, shortName(p.info.Defs[f.Name].(*types.Func)), f)
				}
			}
		}
	}
}

func shortName(f *types.Func) string {
	return strings.ReplaceAll(f.Origin().FullName(), module+"/", "")
}

// position returns a position in the form of editors.
func position(p token.Pos) string {
	at := files.Position(p)
	at.Filename = strings.TrimPrefix(filepath.ToSlash(at.Filename), root+"/")
	at.Column = 0
	return at.String()
}
