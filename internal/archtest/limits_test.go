package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const limitsPage = "docs/limits.md"

var (
	limitRow  = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| `([\\w.]+)` \\| `([\\w/]+\\.go)` \\|$")
	limitName = regexp.MustCompile(`^(?:max|Max|default|Default)[A-Z0-9]|[a-z0-9](?:Time|Timeout|Pause|Backoff)$`)

	// Rows are found by searching, not read in order.
	needsTheRowBefore = regexp.MustCompile(`\b(?:in|of|from|behind|to) (?:it|them)\b|^(?:its|their|and|such|that|those|the same,)\b|^bytes of (?:its|these)\b|^the same without\b|\bof (?:one|each|all)(?:$|,| of)|\bthe same of\b`)
)

// A limit is a row of the table.
type limit struct{ what, value, name, file string }

func limits(t *testing.T) []limit {
	t.Helper()
	var all []limit
	for _, row := range limitRow.FindAllStringSubmatch(page(t, limitsPage), -1) {
		all = append(all, limit{row[1], row[2], row[3], row[4]})
	}
	if len(all) < 50 {
		t.Errorf("%s: %d limits can be read; are the rows of the table | what | `default` | `name` | `file` |?", limitsPage, len(all))
	}
	return all
}

func TestTheLimitsAreThoseOfTheCode(t *testing.T) {
	for _, l := range limits(t) {
		index := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == l.file })
		if index < 0 {
			t.Errorf("%s: %s is not there", limitsPage, l.file)
			continue
		}
		if got := valueOf(sources(t)[index].file, l.name); got != l.value {
			t.Errorf("%s: the limit %s in %s is %s, and the table says %s", limitsPage, l.name, l.file, got, l.value)
		}
	}
}

func TestARowOfTheLimitsCanBeReadAlone(t *testing.T) {
	for _, l := range limits(t) {
		if word := needsTheRowBefore.FindString(l.what); word != "" {
			t.Errorf("%s: %s: %q needs another row to be understood (%q): name the thing", limitsPage, l.name, l.what, word)
		}
	}
}

// noLimit are the constants that have the name of a limit and no row, by reason.
// They are named with their folder.
var noLimit = map[string][]string{
	"how much of a text is shown or logged": {
		"cases.maxShownDiff", "cases.maxShownLine",
		"cmd/junction.maxDiffLines", "cmd/junction.maxFindingsShown", "cmd/junction.maxNamesShown", "cmd/junction.maxLog", "cmd/junction.maxReason", "cmd/junction.maxRenamed", "cmd/junction.maxSaid", "cmd/junction.maxTitleShown",
		"cmd/junction/internal/answer.maxMessage",
		"cmd/junction/internal/answer.maxServerName", "cmd/junction/internal/answer.maxURL",
		"cmd/junction/internal/person.maxName", "cmd/junction/internal/person.maxNotice", "cmd/junction/internal/person.maxReason",
		"cmd/junction/internal/show.maxName", "cmd/junction/internal/show.maxText", "cmd/junction/internal/show.maxType", "cmd/junction/internal/show.maxVersions",
		"config.maxQuoted", "console/inspect.maxDetail", "console/live.maxDrawnBox", "console/live.maxLane", "gateway/review.maxNoted", "guard.maxExcerpt", "guard.maxNamed", "guard.maxQuote",
		"host/archive.maxMatch", "host/archive.maxTitle",
		"host/trace.maxLabel", "host/trace.maxSpoken", "internal/sequence.maxLine", "internal/sequence.maxMermaidLabel",
		"host/tui.maxInline", "host/tui/internal/markdown.maxFence",
		"install.maxWords", "internal/schema.maxDescription", "internal/schema.maxExcerpt", "internal/schema.maxNamesListed",
		"internal/terminal.maxWidth", "lint.maxShownName", "lint.maxShownField", "lint.maxShownText", "mcp/command.maxArgument", "mcp/command.maxShown", "mcp/internal/httplink.maxShown",
		"mcp/middleware.maxText", "mcp/oauth.maxText", "mcp/otelmcp.maxName", "mcp/otelmcp.maxText", "mcp/otelmcp.maxURI",
		"model.maxChanges", "model/offline.maxLine", "model/offline.maxListed",
		"policy.maxQuoted", "servers/filesystem.maxShownLine",
	},
	"what is used where nobody says; it bounds nothing": {
		"internal/terminal.defaultWidth", "mcp/internal/edge.defaultLevel",
	},
	"when something is drawn, or said to a person who waits": {
		"cmd/junction.startingPause", "host/tui.drawTime", "host/tui.pollTime", "host/tui.tickTime",
	},
	"an exit status": {"cmd/junction.exitTimeout"},
	"a fact of JSON: beyond it numbers are not exact": {"internal/paramheader.maxInteger", "servers/sql.maxExact"},
}

// Somebody who looks for a limit must find it on the page.
func TestEveryLimitHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, l := range limits(t) {
		rows[path.Dir(l.file)+"."+l.name] = true
	}
	without := map[string]bool{}
	for reason, names := range noLimit {
		for _, name := range names {
			without[name] = true
			if rows[name] {
				t.Errorf("%s has a row: take it off %q", name, reason)
			}
		}
	}
	for _, s := range sources(t) {
		if s.isTest || !s.isProduction() {
			continue
		}
		for _, name := range limitConstants(s.file) {
			full := s.dir() + "." + name
			if !rows[full] && !without[full] {
				t.Errorf("%s: %s bounds something and is not in %s: add a row", s.path, name, limitsPage)
			}
			delete(without, full)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(without)) {
		t.Errorf("%s is not there: take it off noLimit", name)
	}
}

// isProduction reports whether the file is part of the library or of a program
// that people run.
func (s *source) isProduction() bool {
	for _, folder := range []string{"docs", "conformance"} {
		if below(s.path, folder) {
			return false
		}
	}
	return s.inModule() && !strings.HasPrefix(s.path, ".")
}

// The name of a time or a pause says so at its end.
func TestNamesOfLimitsAreKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"maxCalls": true, "DefaultReadTimeout": true, "parkTime": true, "followPause": true, "roundsBackoff": true, "idleTimeout": true,
		"maximum": false, "defaults": false, "Time": false, "timeFormat": false, "unpaused": false,
	} {
		if limitName.MatchString(name) != want {
			t.Errorf("%s has the name of a limit: got %v", name, !want)
		}
	}
}

// limitConstants are the constants of a file that have the name of a limit. A
// string bounds nothing.
func limitConstants(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		decl, ok := n.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			return true
		}
		for _, spec := range decl.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, name := range spec.Names {
				if i < len(spec.Values) && !isString(spec.Values[i]) && limitName.MatchString(name.Name) {
					found = append(found, name.Name)
				}
			}
		}
		return false
	})
	return found
}

func isString(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

// valueOf is the expression that a constant stands for, or that a method such as
// Limits.depth returns at its end.
func valueOf(file *ast.File, name string) string {
	_, _, isMethod := strings.Cut(name, ".")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && !isMethod && len(v.Values) > 0 && v.Names[0].Name == name {
					return show(v.Values[0])
				}
			}
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d)+"."+d.Name.Name != name || len(d.Body.List) == 0 {
				continue
			}
			if r, ok := d.Body.List[len(d.Body.List)-1].(*ast.ReturnStmt); ok {
				return show(r.Results[0])
			}
		}
	}
	return "not there"
}

// The help and the page once named a limit that had changed long before.
func TestTheTimeoutsOfTheCommandLineAreThoseOfTheCode(t *testing.T) {
	for _, s := range sources(t) {
		switch s.path {
		case "mcp/client.go":
			if got := valueOf(s.file, "defaultTimeout"); got != "60 * time.Second" {
				t.Errorf("%s: defaultTimeout is %s: change --timeout in cmd/junction/run.go and docs/cli.md too", s.path, got)
			}
		case "mcp/internal/upstream/conn.go":
			if got := valueOf(s.file, "connectTime"); got != "2 * time.Minute" {
				t.Errorf("%s: connectTime is %s: change --timeout in cmd/junction/run.go and docs/cli.md too", s.path, got)
			}
		}
	}
	for name, want := range map[string]string{
		"cmd/junction/run.go": "(default 1m; 2m to connect)",
		"docs/cli.md":         "default 1 minute, 2 minutes to connect",
	} {
		if !strings.Contains(page(t, name), want) {
			t.Errorf("%s: --timeout: expected %q", name, want)
		}
	}
}
