package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

const (
	MaxRenamed = 2   // largest number of renamed names shown for a server
	MaxReason  = 300 // largest number of characters of a reason for a failure
)

// notWrapped is the width of lines in output for programs and files.
const notWrapped = 1 << 16

// LineWidth returns the width of a terminal. Without a terminal, it returns a width that is large
// enough to wrap no lines.
func LineWidth(s *terminal.Screen) int {
	if s.Terminal() {
		return s.Width()
	}
	return notWrapped
}

// sourceTable returns a table with a row for each file: its path and the servers that it defines.
func sourceTable(p place.Place, names []string, files map[string]string, width int) string {
	var order []string
	servers := map[string][]string{}
	for _, name := range names {
		file := files[name]
		if file == "" {
			continue // the server ships with junction
		}
		if servers[file] == nil {
			order = append(order, file)
		}
		servers[file] = append(servers[file], name)
	}
	var rows [][]string
	for _, file := range order {
		rows = append(rows, []string{p.Short(file) + ":", strings.Join(servers[file], ", ")})
	}
	return terminal.Table(rows, 2, width)
}

// SourcesText returns a text about the files that define the servers, or "".
func SourcesText(p place.Place, names []string, files map[string]string, width int) string {
	if table := sourceTable(p, names, files, width); table != "" {
		return fmt.Sprintf("Servers come from\n%s\n", table)
	}
	return ""
}

// maxMeant is the largest number of suggestions for an unknown name.
const maxMeant = 3

// Suggestion returns a suggestion of names as the end of a sentence. It ignores empty names. It
// returns "" if there are no others.
func Suggestion(names ...string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var quoted []string
	for _, name := range names {
		if name != "" && len(quoted) < maxMeant {
			quoted = append(quoted, fmt.Sprintf("%q", plaintext.Line(name, 80)))
		}
	}
	if len(quoted) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}

// ShippedNames returns the names of the servers that ship with junction.
func ShippedNames() []string {
	return []string{"everything", "fetch", "filesystem", "graphql", "http", "memory", "openapi", "sql", "time"}
}
