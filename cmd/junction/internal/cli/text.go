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
	MaxRenamed = 2   // changed names of a server that are shown at a time
	MaxReason  = 300 // letters of why a server failed
)

// notWrapped is the width of lines that a program reads, or a file keeps.
const notWrapped = 1 << 16

// LineWidth is how wide a line may be: on a terminal that of the screen.
func LineWidth(s *terminal.Screen) int {
	if s.Terminal() {
		return s.Width()
	}
	return notWrapped
}

// sourceTable has a row for each file: which of these servers come from it.
func sourceTable(p place.Place, names []string, files map[string]string, width int) string {
	var order []string
	servers := map[string][]string{}
	for _, name := range names {
		file := files[name]
		if file == "" {
			continue // it ships with junction
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

// SourcesText names the files that the servers came from.
func SourcesText(p place.Place, names []string, files map[string]string, width int) string {
	if table := sourceTable(p, names, files, width); table != "" {
		return fmt.Sprintf("Servers come from\n%s\n", table)
	}
	return ""
}

// SomeNames are the first of some names, and how many more there are.
func SomeNames(names []string) string {
	some := make([]string, 0, MaxRenamed+1)
	for _, name := range names[:min(len(names), MaxRenamed)] {
		some = append(some, plaintext.Line(name, 100))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return strings.Join(some, ", ")
}

// maxMeant is how many names are suggested in place of one that nothing has.
const maxMeant = 3

// OrMeant asks whether one of some names was meant; empty names are none.
func OrMeant(names ...string) string {
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
