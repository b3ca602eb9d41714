package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/model/providers"
)

// A rowTable is a table that alone may choose by the keys of its rows.
type rowTable struct {
	what   string
	keys   []string // of the rows, as literals
	among  string   // a package: only files that import it use its keys; empty: all files
	from   string   // the package with constants for keys; empty: none
	places []string // files and folders that may choose
	remedy string
}

func rowTables(t *testing.T) []rowTable {
	hosts := rowTable{what: "host", places: []string{"hostconfig"}, remedy: "give hostconfig.Host a field that says what differs"}
	for _, h := range hostconfig.Hosts() {
		if h.ID != "cursor" { // also a member of lists
			hosts.keys = append(hosts.keys, h.ID)
		}
	}
	models := rowTable{what: "provider of models", places: []string{"model"}, remedy: "give providers.Provider a field that says what differs"}
	for _, p := range providers.All() {
		models.keys = append(models.keys, p.Name)
	}
	rules := rowTable{what: "rule of lint", among: "lint", places: []string{"lint"}, remedy: "give lint.Rule a field that says what differs"}
	for _, r := range lint.Rules() {
		rules.keys = append(rules.keys, r.Name)
	}
	notes := rowTable{what: "kind of note", from: "note", places: []string{"internal/note", "console/inspect/message.go"}, // reads the members of a note
		remedy: "ask a function of internal/note, or the note itself, as a note.Decider"}
	for _, s := range sources(t) {
		if s.path == "internal/note/note.go" {
			ast.Inspect(s.file, func(n ast.Node) bool {
				if spec, is := n.(*ast.ValueSpec); is && len(spec.Values) == 1 {
					notes.keys = append(notes.keys, spec.Names[0].Name)
				}
				return true
			})
		}
	}
	if len(hosts.keys) < 10 || len(models.keys) < 5 || len(rules.keys) < 10 || !slices.Contains(notes.keys, "Rewritten") || !note.IsHandling(note.Rewritten) {
		t.Fatalf("the tables have %d, %d, %d, %d rows", len(hosts.keys), len(models.keys), len(rules.keys), len(notes.keys))
	}
	return []rowTable{hosts, models, rules, notes}
}

// in returns the positions where a file chooses by a key.
func (r *rowTable) in(file *ast.File) []token.Pos {
	if r.among != "" && !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(module+"/"+r.among) }) {
		return nil
	}
	return choices(file, func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			return r.from != "" && name(e.X) == r.from && slices.Contains(r.keys, e.Sel.Name)
		case *ast.BasicLit:
			text, err := strconv.Unquote(e.Value)
			return r.from == "" && err == nil && slices.Contains(r.keys, text)
		}
		return false
	})
}

func TestOnlyTablesChooseByTheirKeys(t *testing.T) {
	for _, table := range rowTables(t) {
		for _, s := range sources(t) {
			if s.isTest || !s.inModule() || slices.ContainsFunc(table.places, func(place string) bool { return below(s.path, place) }) {
				continue
			}
			for _, at := range table.in(s.file) {
				t.Errorf("%s: a choice by %s: %s", files.Position(at), table.what, table.remedy)
			}
		}
	}
}

// byHand maps functions that may name several fields one by one to the reason.
var byHand = map[string]string{
	"console/live.callDetail.add":             "it finds the request of a response",
	"guard.Changes":                           "it shows how two definitions differ",
	"host/internal/consent.Decider.Approvals": "it finds answers of the user that are there twice",
}

// maxByHand limits the fields of a call that a function may write under their names, or compare
// with those of another value.
const maxByHand = 2

// callFields returns the names of the members of lines of the audit log and of events of traffic.
func callFields(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, s := range sources(t) {
		if s.path != "audit/line.go" && s.path != "traffic/event.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is || spec.Name.Name != "Record" && spec.Name.Name != "Event" {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					if name.IsExported() {
						names[strings.ToLower(name.Name)] = true
					}
				}
			}
			return false
		})
	}
	if len(names) < 30 || !names["principal"] || !names["hop"] {
		t.Fatalf("a call has the fields %v", names)
	}
	return names
}

// TestFieldsOfCallsAreWrittenAndChosenByTables finds encoders of calls, and filters over them, that
// name each field. internal/fields uses the tags instead.
func TestFieldsOfCallsAreWrittenAndChosenByTables(t *testing.T) {
	names, found := callFields(t), map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !s.inModule() || below(s.path, "internal/fields") {
			continue
		}
		for _, d := range s.file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			name := s.dir() + "." + f.Name.Name
			if f.Recv != nil {
				name = s.dir() + "." + receiver(f) + "." + f.Name.Name
			}
			if byHand[name] != "" {
				found[name] = true
				continue
			}
			if written, compared := fieldUses(f.Body, names); written > maxByHand {
				t.Errorf("%s: %s writes %d members that have the names of fields: make it a fields.Table", files.Position(f.Pos()), name, written)
			} else if compared > maxByHand {
				t.Errorf("%s: %s compares %d fields with those of another value: make it fields.Params", files.Position(f.Pos()), name, compared)
			}
		}
	}
	for name := range byHand {
		if !found[name] {
			t.Errorf("%s is gone: take it off the list", name)
		}
	}
}

// fieldUses counts the fields that calls get next to their name, and those that are compared with
// the field of another value.
func fieldUses(body ast.Node, names map[string]bool) (written, compared int) {
	wrote, compares := map[string]bool{}, map[string]bool{}
	field := func(e ast.Expr) (of, name string) {
		ast.Inspect(e, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && name == "" {
				if x, is := s.X.(*ast.Ident); is {
					of, name = x.Name, s.Sel.Name
				}
			}
			return name == ""
		})
		return of, name
	}
	pair := func(a, b ast.Expr) {
		of, one := field(a)
		other, same := field(b)
		if one == same && of != other && names[strings.ToLower(one)] {
			compares[one] = true
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				pair(n.X, n.Y)
			}
		case *ast.CallExpr:
			if len(n.Args) < 2 {
				return true
			}
			if lit, is := n.Args[0].(*ast.BasicLit); is {
				text, _ := strconv.Unquote(lit.Value)
				if _, name := field(n.Args[1]); names[text] && strings.EqualFold(text, name) {
					wrote[text] = true
				}
			}
			if s, is := n.Fun.(*ast.SelectorExpr); is && s.Sel.Name == "Contains" {
				pair(n.Args[0], n.Args[1])
			}
		}
		return true
	})
	return len(wrote), len(compares)
}

func TestDuplicatesOfTablesAreFound(t *testing.T) {
	parse := func(text string) *ast.File {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	tables := rowTables(t)
	for text, want := range map[string]string{
		`func f() { switch h.ID { case "zed": } }`:                                       "host",
		`var _ = map[string]string{"anthropic": "ANTHROPIC_API_KEY"}`:                    "provider of models",
		`import "` + module + `/lint"; var _ = f.Rule == "` + lint.Rules()[0].Name + `"`: "rule of lint",
		`func f() { switch kind { case note.Policy, note.Limit: } }`:                     "kind of note",
		`var _ = mcp.NoteObserverOf(ctx, note.Policy)`:                                   "",
		`func f() { switch name { case "cursor": } }`:                                    "",
	} {
		got := ""
		for _, table := range tables {
			if len(table.in(parse(text))) > 0 {
				got += table.what
			}
		}
		if got != want {
			t.Errorf("%s: a choice by %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string][2]int{
		`func f() { text("method", r.Method); w.String("server", words(e.Server)); w.String("at", e.Time); w.Int("size", int64(e.Size)) }`:                           {3, 0},
		`func f() bool { return (f.Server == "" || e.Server == f.Server) && f.Kind == e.Kind && strings.Contains(lower(e.Name), f.Name) && e.Method == f.method() }`: {0, 3},
		`func f() bool { return a.Name == b.Title || a.Name == a.Name }`:                                                                                             {0, 0},
	} {
		if written, compared := fieldUses(parse(text), callFields(t)); written != want[0] || compared != want[1] {
			t.Errorf("%s: %d written, %d compared, want %v", text, written, compared, want)
		}
	}
}
