package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of a folder that stands behind -- and is not there it is said how it is mended.
func TestAFolderThatAServerIsGivenAndIsNotThereIsNamed(t *testing.T) {
	for _, test := range []struct {
		name   string
		server []string
		code   int
		out    string
		err    string
	}{
		{"it is needed", []string{"serve", "filesystem"}, exitConnection, "", "there is no folder FOLDER, which it was given: make it first, with mkdir -p FOLDER"},
		{"the server starts without", []string{"serve", "memory"}, exitOK, "there is no folder FOLDER; once there is, it may write into it with junction sandbox allow files --write", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			alone(t)
			s := newPackageSet(t)
			s.versions["@x/files@1.0.0"] = self(t, test.server...)
			home := t.TempDir()
			folder := filepath.Join(home, "work", "notes")
			flag := "--root"
			if test.server[1] == "memory" {
				flag = "--file"
			}
			got := s.runs(t, "", "add", "npm:@x/files@1.0.0", "--yes", "--", flag, folder)
			got.stdout, got.stderr = strings.Join(strings.Fields(got.stdout), " "), strings.Join(strings.Fields(got.stderr), " ")
			got.expect(t, test.code, strings.ReplaceAll(test.out, "FOLDER", folder), strings.ReplaceAll(test.err, "FOLDER", folder))
			if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
				t.Errorf("afterwards there is %v (%v)", left, err)
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
	alone(t)
	got := runs(t, "", "add", "gem:server", "--yes")
	for prefix := range packagePrefixes() {
		if !strings.Contains(table, "`"+prefix+":") {
			t.Errorf("docs/install.md does not say that add takes %s:", prefix)
		}
		if !strings.Contains(got.stderr, " "+prefix+":") {
			t.Errorf("the error for gem: does not name %s: %s", prefix, got.stderr)
		}
	}
}
