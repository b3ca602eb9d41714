package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The packages whose names the tables of migrating.md contain, in the order in which a type
// without a package is looked for.
var portedPackages = []string{"mcp", "streamable", "stdio", "httpsse", "stream", "command", "middleware", "auth"}

// The types of variables in the tables.
var portedVariables = map[string]string{
	"s": "Server", "c": "Client", "req": "Request", "result": "Result CallToolResult", "session": "Session", "content": "Content", "next": "Handler", "t": "Tool",
}

// Names of other packages.
var portedElsewhere = map[string]bool{"http": true, "fmt": true, "errors": true, "json": true, "slog": true, "context": true, "signal": true}

var (
	codeSpan  = regexp.MustCompile("`[^`]+`")
	qualified = regexp.MustCompile(`(\w+)(\.[A-Z]\w*)(\.[A-Z]\w*)?`)
	ofRequest = regexp.MustCompile(`mcp\.RequestFrom\(ctx\)\.(\w+)`)
	literalOf = regexp.MustCompile(`(\w+)\.([A-Z]\w*)(?:\[T\])?\{([A-Z]\w*):`)
)

// readAPI returns the exported names of a package: "Name" and "Type.Member".
func readAPI(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	file := "mcp-" + pkg + ".txt"
	if pkg == "mcp" {
		file = "mcp.txt"
	}
	text, err := os.ReadFile(filepath.Join("..", "api", file))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		switch kind, rest, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case strings.HasPrefix(rest, "("): // a method
			receiver, method, _ := strings.Cut(rest[1:], ") ")
			fields := strings.Fields(strings.ReplaceAll(receiver, "*", ""))
			names[fields[len(fields)-1]+"."+word(method)] = true
		case kind == "type":
			typ, member, isMember := strings.Cut(rest, ", ")
			names[word(typ)] = true
			if isMember {
				names[word(typ)+"."+word(member)] = true
			}
		case kind != "":
			names[word(rest)] = true
		}
	}
	return names
}

var words = regexp.MustCompile(`^\w+`)

func word(text string) string { return words.FindString(text) }

// unknownNames returns the names in the code of a cell that the library lacks.
func unknownNames(cell string, api map[string]map[string]bool) (unknown []string) {
	hasMember := func(types, member string) bool {
		return slices.ContainsFunc(strings.Fields(types), func(typ string) bool {
			return slices.ContainsFunc(portedPackages, func(pkg string) bool { return api[pkg][typ+"."+member] })
		})
	}
	for _, span := range codeSpan.FindAllString(cell, -1) {
		for _, m := range qualified.FindAllStringSubmatch(span, -1) {
			name, member := strings.TrimPrefix(m[2], "."), strings.TrimPrefix(m[3], ".")
			switch names, variable := api[m[1]], portedVariables[m[1]]; {
			case portedElsewhere[m[1]]:
			case names != nil && names[name] && (member == "" || names[name+"."+member]):
			case variable != "" && hasMember(variable, name):
			case names == nil && variable == "" && hasMember(m[1], name):
			default:
				unknown = append(unknown, m[0])
			}
		}
		for _, m := range ofRequest.FindAllStringSubmatch(span, -1) {
			if !hasMember("Request", m[1]) {
				unknown = append(unknown, m[0])
			}
		}
		for _, m := range literalOf.FindAllStringSubmatch(span, -1) {
			if names := api[m[1]]; names != nil && !names[m[2]+"."+m[3]] && !names[m[3]] {
				unknown = append(unknown, m[2]+"."+m[3])
			}
		}
	}
	return unknown
}

// The replacements in the tables exist in the library.
func TestNamesOfReplacementsExist(t *testing.T) {
	api := map[string]map[string]bool{}
	for _, pkg := range portedPackages {
		api[pkg] = readAPI(t, pkg)
	}
	page, err := os.ReadFile("migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "|") || len(cells) != 2 {
			continue
		}
		for _, name := range unknownNames(cells[1], api) {
			t.Errorf("migrating.md: the library has no %s, in the replacement of %s", name, cells[0])
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("migrating.md has %d rows with replacements", checked)
	}
	for _, wrong := range []string{"`mcp.Absent`", "`c.Absent(ctx)`", "`ServerOptions.Absent`", "`mcp.Tool{Absent: 1}`", "`absent.Name`", "`mcp.RequestFrom(ctx).Absent`"} {
		if unknownNames(wrong, api) == nil {
			t.Errorf("%s counts as a name of the library", wrong)
		}
	}
}
