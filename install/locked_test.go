package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A lock is a file in a repository: changes by others must not be started unseen.
func TestALockStartsNoOtherProgram(t *testing.T) {
	fakePrograms(t, "node", "sh", "dotnet")
	s := newStore(t)
	for _, test := range []struct {
		l      Locked
		file   string
		starts bool
	}{
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"node", "./node_modules/@a/b/x.js"}}, "node_modules/@a/b/x.js", true},
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"sh", "-c", "evil"}}, "x", false},
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"sh", "./node_modules/@a/b/x.js"}}, "node_modules/@a/b/x.js", false},
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"node", "--eval=evil"}}, "x", false},
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"node", "./node_modules/c/x.js"}}, "node_modules/c/x.js", false},
		{Locked{Package: Package{Type: NPM, Name: "@a/b"}, Program: []string{"node", "./node_modules/@a/b/../../c/x.js"}}, "node_modules/c/x.js", true}, // it is in the store, in this package
		{Locked{Package: Package{Type: PyPI, Name: "a"}, Program: []string{"./bin/python", "./bin/a"}}, "bin/a", true},
		{Locked{Package: Package{Type: PyPI, Name: "a"}, Program: []string{"./bin/python", "-m", "a"}}, "bin/a", true},
		{Locked{Package: Package{Type: PyPI, Name: "a"}, Program: []string{"./bin/python", "-c", "evil"}}, "bin/a", false},
		{Locked{Package: Package{Type: PyPI, Name: "a"}, Program: []string{"sh", "./bin/a"}}, "bin/a", false},
		{Locked{Package: Package{Type: NuGet, Name: "a"}, Program: []string{"dotnet", "exec", "./tools/x.dll"}}, "tools/x.dll", true},
		{Locked{Package: Package{Type: NuGet, Name: "a"}, Program: []string{"dotnet", "run", "./tools/x.dll"}}, "tools/x.dll", false},
		{Locked{Package: Package{Type: Cargo, Name: "a"}, Program: []string{"./bin/a"}}, "bin/a", true},
		{Locked{Package: Package{Type: Cargo, Name: "a"}, Program: []string{"sh"}}, "bin/a", false},
		{Locked{Package: Package{Type: Cargo, Name: "a", Bin: "../../x"}, Program: []string{"./bin/../../x"}}, "bin/a", false},
	} {
		dir := s.folder(&test.l)
		for _, file := range []string{test.file, "bin/python"} {
			path := filepath.Join(dir, filepath.FromSlash(file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		if test.l.Type == Cargo {
			if err := os.Remove(filepath.Join(dir, "bin", "python")); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeJSON(filepath.Join(dir, markFile), markOf(keyOf(&test.l), dir)); err != nil {
			t.Fatal(err)
		}
		p, err := s.Open(&test.l)
		if (err == nil) != test.starts {
			t.Errorf("%q: %+v, %v", test.l.Program, p, err)
		}
	}
}

func TestALockCannotNameAnotherPackage(t *testing.T) {
	l := &Locked{Package: Package{Type: NPM, Name: "a", Version: "1.0.0"}, Integrity: "sha512-AA==", Program: []string{"node", "./node_modules/a/x.js"},
		Dependencies: json.RawMessage(`{"lockfileVersion":3,"packages":{"node_modules/a":{"name":"evil","version":"1.0.0","integrity":"sha512-AA=="}}}`)}
	_, err := newStore(t).Install(t.Context(), l)
	if err == nil || !strings.HasSuffix(err.Error(), "the lock contradicts itself: its dependencies have evil for it") {
		t.Errorf("error %v", err)
	}
}
