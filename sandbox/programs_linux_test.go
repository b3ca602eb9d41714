package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Homebrew keeps databases and settings of the user in its var and etc.
func TestAProgramOfHomebrewIsMadeOfNoneOfItsData(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(root, "homebrew")
	for _, dir := range []string{"bin", "lib", "opt", "share", "var/mysql", "etc/openssl@3", "etc/ca-certificates", "Cellar/node/22/bin", "Cellar/node/22/lib"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(prefix, "Cellar/node/22/bin/node"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../Cellar/node/22/bin/node", filepath.Join(prefix, "bin/node")); err != nil {
		t.Fatal(err)
	}
	got := programFolders(filepath.Join(prefix, "bin/node"), "", nil)
	want := []string{"Cellar", "Cellar/node/22", "bin", "etc/ca-certificates", "etc/openssl@3", "lib", "opt", "share"}
	for i := range want {
		want[i] = filepath.Join(prefix, want[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("it is made of %q, want %q", got, want)
	}
}
