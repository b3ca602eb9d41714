package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/runner"
)

// A folder that stands behind -- and is not there is made where the person says so; else it is said how it is mended.
func TestMissingFoldersOfAServerAreCreatedOrReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		typed  string // "": no user can be asked
		server []string
		code   int
		out    string
		err    string
		folder bool // it is there afterwards
	}{
		{"it is made", "y\ny\n", []string{"serve", "filesystem"}, cli.ExitOK, `Added "files" to`, "The folder FOLDER, which files needs, does not exist. Make it?", true},
		{"it is made, and the server is not added", "y\nn\n", []string{"serve", "filesystem"}, cli.ExitOK, "Nothing was changed.", "Make it?", false},
		{"it is not made, and needed", "n\n", []string{"serve", "filesystem"}, cli.ExitConnection, "", "the folder FOLDER, which the server was given, does not exist: create it first, with mkdir -p FOLDER", false},
		{"the user is not asked, and it is needed", "", []string{"serve", "filesystem"}, cli.ExitConnection, "", "the folder FOLDER, which the server was given, does not exist: create it first, with mkdir -p FOLDER", false},
		{"the user is not asked, and the server starts", "", []string{"serve", "memory"}, cli.ExitOK, "there is no folder FOLDER; once it exists, allow writing with junction server sandbox allow files --write", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.Alone(t)
			s := newPackageSet(t)
			s.versions["@x/files@1.0.0"] = self(t, test.server...)
			home := t.TempDir()
			folder := filepath.Join(home, "work", "notes")
			flag := "--root"
			if test.server[1] == "memory" {
				flag = "--file"
			}
			args := []string{"add", "npm:@x/files@1.0.0", "--", flag, folder}
			if test.typed == "" {
				args = append(args[:2:2], append([]string{"--yes"}, args[2:]...)...)
			}
			got := s.runs(t, test.typed, args...)
			got.stdout, got.stderr = strings.Join(strings.Fields(got.stdout), " "), strings.Join(strings.Fields(got.stderr), " ")
			got.expect(t, test.code, strings.ReplaceAll(test.out, "FOLDER", folder), strings.ReplaceAll(test.err, "FOLDER", folder))
			left, err := os.ReadDir(home)
			if err != nil || len(left) > 0 != test.folder {
				t.Errorf("afterwards there is %v (%v)", left, err)
			}
			if configuration, lock := pair(t); test.folder && !strings.Contains(lock, `"write": [`) {
				t.Errorf("it may not write there: %s %s", configuration, lock)
			}
		})
	}
}

// The table of docs/install.md, and the error for a kind that there is not, name each kind of packages.
func TestEachKindOfPackagesIsNamedWhereOneIsChosen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### What can be added\n")
	table, _, _ = strings.Cut(table, "\nWhatever")
	clitest.Alone(t)
	got := runs(t, "", "add", "gem:server", "--yes")
	var prefixes []string
	for _, k := range runner.Kinds() {
		prefixes = append(prefixes, k.Prefixes...)
	}
	for _, prefix := range prefixes {
		if !strings.Contains(table, "`"+prefix+":") {
			t.Errorf("docs/install.md does not say that add takes %s:", prefix)
		}
		if !strings.Contains(got.stderr, " "+prefix+":") {
			t.Errorf("the error for gem: does not name %s: %s", prefix, got.stderr)
		}
	}
}
