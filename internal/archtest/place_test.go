package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// ofProcess lists functions that read or change the environment and the folder of the process. A
// command uses those of its place.Place, so that several can run in one process.
var ofProcess = map[string][]string{
	"os": {
		"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "Getwd", "Chdir", "TempDir",
		"UserHomeDir", "UserConfigDir", "UserCacheDir",
	},
	"filepath": {"Abs"},
	"exec":     {"Command", "CommandContext", "LookPath"},
}

// placed lists the folders whose code has a place, or receives the values it needs from one.
var placed = []string{"cmd/junction", "launch", "install", "sandbox", "config", "hostconfig", "definitions", "console", "registry", "guard"}

// defaults lists the files that take default values from the process.
var defaults = []string{"config/file.go", "console/live/ring.go", "definitions/store.go", "guard/pins_file.go", "hostconfig/hosts.go", "install/store.go"}

// unplaced lists the files whose code has no place yet. The list only shrinks.
var unplaced = []string{
	"hostconfig/journal.go", "install/cargo.go", "install/folder.go", "install/manifest.go", "install/program.go", "install/pypi_index.go", "install/unpack.go", "registry/mirror.go",
}

func TestCommandsHaveTheEnvironmentAndFolderOfTheirPlace(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !slices.ContainsFunc(placed, func(folder string) bool { return below(s.path, folder) }) {
			continue
		}
		uses := usesOfProcess(s.file)
		switch {
		case len(uses) == 0:
		case slices.Contains(defaults, s.path), slices.Contains(unplaced, s.path), below(s.path, "sandbox"): // sandbox starts programs for its own process
			found[s.path] = true
		default:
			t.Errorf("%s: %s: a command takes that from its place.Place, a library from its options", s.path, strings.Join(uses, ", "))
		}
	}
	for _, path := range slices.Concat(defaults, unplaced) {
		if !found[path] {
			t.Errorf("%s takes nothing from the process any more: take it off the list", path)
		}
	}
}

// usesOfProcess returns the functions of ofProcess that a file uses.
func usesOfProcess(file *ast.File) (uses []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, is := n.(*ast.SelectorExpr); is {
			if pkg, is := selector.X.(*ast.Ident); is && slices.Contains(ofProcess[pkg.Name], selector.Sel.Name) {
				uses = append(uses, pkg.Name+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return uses
}
