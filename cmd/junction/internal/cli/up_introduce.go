package cli

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/terminal"
)

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
