package archtest

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const sharesTest = "cmd/junction/shares_test.go"

// A use is a call of internal/share that makes a budget or turns, in the form of a row of the
// walking test. A test of a package has the name of its folder and its own.
var (
	shareUse  = regexp.MustCompile(`^[\w/]+: share\.\w+\(.*\)$`)
	shareTest = regexp.MustCompile(`^[\w/]+\.Test\w+$`)
)

// divides lists the functions of internal/share that divide a resource among callers. Others name
// callers or store values.
var divides = []string{"New", "Each", "Bytes", "NewHeld", "NewTurns", "Share", "Reserve"}

// One test walks over all budgets of resources of callers, with a worst client for each: each use
// of internal/share has a row there.
func TestEveryBudgetHasAWorstClient(t *testing.T) {
	rows, tests := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.path != sharesTest {
			if s.isTest {
				for _, d := range s.file.Decls {
					if f, is := d.(*ast.FuncDecl); is && f.Recv == nil {
						tests[s.dir()+"."+f.Name.Name] = true
					}
				}
			}
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && (shareUse.MatchString(text) || shareTest.MatchString(text)) {
					rows[text] = true
				}
			}
			return true
		})
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", sharesTest)
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !s.isProduction() || s.dir() == "internal/share" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			f, is := call.Fun.(*ast.SelectorExpr)
			if !is || name(f.X) != "share" || !slices.Contains(divides, f.Sel.Name) {
				return true
			}
			use := s.dir() + ": " + string(s.text[files.Position(call.Pos()).Offset:files.Position(call.End()).Offset])
			if used[use] = true; !rows[use] {
				t.Errorf("%s has no row in %s: a worst client that takes all of it, and another that is served: %q", s.path, sharesTest, use)
			}
			return true
		})
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		if !used[row] && !tests[row] {
			t.Errorf("%s: there is no %q", sharesTest, row)
		}
	}
}

// unshared maps limits made without internal/share to their reason. A channel of places is named
// "folder.chan" with its capacity, a map by its constant, and a counter "folder.count" with its
// constant.
var unshared = map[string][]string{
	"nothing is refused where it is full: something is forgotten, or counted together": {
		"audit.maxFolds", "authserver.maxAttempted", "cmd/junction/internal/person.maxShown", "cmd/junction/internal/cli.MaxLineKinds", "gateway/approvals.maxGranted", "gateway/search.maxSearchers", "mcp.maxCached", "mcp.maxLogRequests", "mcp/internal/httplink.maxNotes", "mcp/internal/upstream.maxLingering", "mcp/internal/upstream.maxTools", "authserver.maxVerified",
		"mcp/middleware.maxNames", "mcp/oauth.maxExchanged", "ratelimit.maxKeys", "servers/fetch.maxSites", "state/replicas.maxKnown", "state/valkey.maxGroups", "up/layer.maxRead",
		"mcp/internal/httplink.count maxArriving", "mcp/internal/lines.count maxIdle", "mcp/internal/upstream.count maxWaitingWorkers",
	},
	"it is of one session, call, task or key": {
		"mcp/internal/edge.chan maxTaskLooks", "mcp/internal/edge.maxKnown", "mcp/internal/edge.maxSessionRequests", "mcp/internal/edge.maxSubscriptions", "mcp/internal/upstream.maxRequested",
		"mcp/tasks.maxInputs",
	},
	"a server holds these, not its callers": {
		"mcp/internal/upstream.chan maxResponses", "mcp/internal/upstream.chan maxWaiting", "mcp/internal/upstream.maxAsked",
	},
	"one goroutine holds these for all callers": {"mcp/streamable.chan maxLogWriters"},
	"a document or a file has them":             {"servers/graphql.maxTools", "servers/openapi.maxFiles"},
	"the user of this machine holds them": {
		"cmd/junction/internal/use.chan maxDialing", "cmd/junction/internal/reach.chan MaxWatchers", "cmd/junction/internal/doctor.chan process.Starts()", "cmd/junction/internal/use.chan process.Starts()", "console/inspect.maxQuestions",
	},
}

// Limits on the resources of callers are divided by internal/share. A channel of places, a map with
// a maximum size, or a counter that goes up and down serves the first callers only. Others have a
// reason.
func TestLimitsOfCallersAreShared(t *testing.T) {
	without := map[string]bool{}
	for _, names := range unshared {
		for _, name := range names {
			without[name] = true
		}
	}
	found := map[string]bool{}
	for _, p := range loadPackages(t, "./mcp/...", "./gateway/...", "./authserver/...", "./ratelimit/...", "./audit/...", "./console/...", "./servers/...", "./state/...", "./traffic/...", "./up/...", "./cmd/junction/...") {
		folder := strings.TrimPrefix(files.Position(p.files[0].Pos()).Filename, root+"/")
		folder = folder[:max(0, strings.LastIndexByte(folder, '/'))]
		down := p.countedDown()
		for _, file := range p.files {
			for _, d := range file.Decls {
				for _, what := range append(p.placesIn(d), p.countsIn(d, down)...) {
					if found[folder+"."+what] = true; !without[folder+"."+what] {
						t.Errorf("%s: %s.%s: callers hold these, the first who comes all of them: use internal/share, or say in unshared why not", files.Position(d.Pos()).Filename, folder, what)
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(without)) {
		if !found[name] {
			t.Errorf("%s is not there: take it off unshared", name)
		}
	}
}

// countedDown returns the fields that are decremented somewhere.
func (p *loaded) countedDown() map[types.Object]bool {
	down := map[types.Object]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if step, is := n.(*ast.IncDecStmt); is && step.Tok == token.DEC {
				if field, is := step.X.(*ast.SelectorExpr); is {
					down[p.info.ObjectOf(field.Sel)] = true
				}
			}
			return true
		})
	}
	return down
}

// countsIn returns the constants that limit atomic counters, or fields that are decremented, in a
// declaration.
func (p *loaded) countsIn(d ast.Decl, down map[types.Object]bool) (found []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		compared, is := n.(*ast.BinaryExpr)
		if !is || compared.Op != token.GEQ && compared.Op != token.GTR || !limitName.MatchString(limitIn(compared)) {
			return true
		}
		counts := false
		switch x := compared.X.(type) {
		case *ast.SelectorExpr:
			counts = down[p.info.ObjectOf(x.Sel)]
		case *ast.CallExpr:
			if f, is := x.Fun.(*ast.SelectorExpr); is && (f.Sel.Name == "Add" || f.Sel.Name == "Load") {
				called := p.info.ObjectOf(f.Sel)
				counts = called != nil && called.Pkg() != nil && called.Pkg().Path() == "sync/atomic"
			}
		}
		if counts {
			found = append(found, "count "+limitIn(compared))
		}
		return true
	})
	return found
}

// limitIn returns the name of the limit in a comparison.
func limitIn(compared *ast.BinaryExpr) string {
	if selector, is := compared.Y.(*ast.SelectorExpr); is {
		return selector.Sel.Name
	}
	return name(compared.Y)
}

// placesIn returns the channels of places that a declaration makes, and the constants that limit
// its maps.
func (p *loaded) placesIn(d ast.Decl) (found []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name(n.Fun) != "make" || len(n.Args) != 2 {
				return true
			}
			channel, is := p.info.TypeOf(n.Args[0]).Underlying().(*types.Chan)
			if !is {
				return true
			}
			of, isEmpty := channel.Elem().Underlying().(*types.Struct)
			if size := p.info.Types[n.Args[1]].Value; isEmpty && of.NumFields() == 0 && (size == nil || constant.Compare(size, token.GTR, constant.MakeInt64(1))) {
				found = append(found, "chan "+types.ExprString(n.Args[1]))
			}
		case *ast.BinaryExpr:
			if length, is := n.X.(*ast.CallExpr); is && (n.Op == token.GEQ || n.Op == token.GTR) && name(length.Fun) == "len" && len(length.Args) == 1 {
				limit := limitIn(n)
				if _, isMap := p.info.TypeOf(length.Args[0]).Underlying().(*types.Map); isMap && limitName.MatchString(limit) {
					found = append(found, limit)
				}
			}
		}
		return true
	})
	return found
}
