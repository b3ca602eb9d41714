package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/servers/filesystem"
)

// shippedNames are the servers that ship with junction.
func shippedNames() []string { return []string{"everything", "filesystem"} }

// shipped makes a server that ships with junction. roots and write are for
// filesystem; no roots means the current folder.
func shipped(name string, roots []string, write bool, logger *slog.Logger) (mcp.Handler, error) {
	switch name {
	case "everything":
		if len(roots) > 0 || write {
			return nil, usagef("--root and --write are for filesystem")
		}
		return everything.New(), nil
	case "filesystem":
		if len(roots) == 0 {
			roots = []string{"."}
		}
		return filesystem.New(filesystem.Options{Roots: roots, Write: write, Logger: logger})
	}
	if near := nearest.Name(name, shippedNames()); near != "" {
		return nil, usagef("no server called %q ships with junction; did you mean %q?", name, near)
	}
	return nil, &usageError{fmt.Errorf("no server called %q ships with junction (there are: %s)", name, strings.Join(shippedNames(), ", "))}
}
