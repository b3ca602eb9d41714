package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTemporaryFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	other := filepath.Join(t.TempDir(), "other")
	left := filepath.Join(parent, temporaryName+"left")
	for _, dir := range []string{other, filepath.Join(left, "deep")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{temporaryName + "link": other, filepath.Base(left) + "/link": other} {
		if err := os.Symlink(target, filepath.Join(parent, name)); err != nil {
			t.Fatal(err)
		}
	}
	one, removeOne, err := temporaryFolder()
	if err != nil {
		t.Fatal(err)
	}
	two, removeTwo, err := temporaryFolder()
	if err != nil {
		t.Fatal(err)
	}
	have := func() (names []string) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	want := []string{filepath.Base(one), filepath.Base(two), temporaryName + "link"}
	slices.Sort(want)
	if got := have(); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	removeOne()
	removeTwo()
	if got := have(); !slices.Equal(got, []string{temporaryName + "link"}) {
		t.Errorf("at the end there are %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(other, "file")); string(text) != "x" {
		t.Errorf("what a link leads to: %q, %v", text, err)
	}
}
