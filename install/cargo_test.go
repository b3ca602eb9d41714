package install

import (
	"strings"
	"testing"
)

// fakeCargo installs a cargo that locks each crate with the given source.
func fakeCargo(t *testing.T, source string) {
	t.Helper()
	fakeProgram(t, "cargo", `[ "$1" = generate-lockfile ] || exit 1
cat >Cargo.lock <<'END'
[[package]]
name = "a"
version = "1.0.0"
source = "`+source+`"
checksum = "`+strings.Repeat("a", 64)+`"
END`)
}

func TestACrateIsFetchedFromTheNamedRegistry(t *testing.T) {
	for _, test := range []struct {
		registry, source string
		ok               bool
	}{
		{"", publicCrates, true},
		{"https://crates.io", publicCrates, true},
		{"https://crates.io", "registry+https://crates.io.example.com/index", false},
		{"https://crates.io", "registry+https://example.com/crates.io", false},
		{"https://example.com", "registry+https://bad-example.com/index", false},
		{"https://github.com", publicCrates, false},
		{"https://e", "registry+https://example.com/index", false},
		{"sparse+https://example.com/index/", "sparse+https://example.com/index/", true},
		{"sparse+https://example.com/index/", publicCrates, false},
	} {
		fakeCargo(t, test.source)
		_, err := newStore(t).Resolve(t.Context(), Package{Type: Cargo, Name: "a", Version: "1.0.0", Registry: test.registry, Scripts: true})
		if (err == nil) != test.ok {
			t.Errorf("%s from %s: %v", test.registry, test.source, err)
		}
	}
}

func TestACrateOfALockNamesAnIndexOrNone(t *testing.T) {
	fakeCargo(t, publicCrates)
	l := &Locked{Package: Package{Type: Cargo, Name: "a", Version: "1.0.0", Registry: "https://crates.io", Scripts: true}, Integrity: "sha256:" + strings.Repeat("a", 64), Program: []string{"./bin/a"}}
	if _, err := newStore(t).Install(t.Context(), l); err == nil || !strings.Contains(err.Error(), "has the registry https://crates.io in the lock, which is not an index") {
		t.Errorf("error %v", err)
	}
}
