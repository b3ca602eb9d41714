package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/install"
)

// A crateRegistry is a sparse registry of Cargo with one crate.
type crateRegistry struct {
	mu     sync.Mutex
	url    string
	crates map[string][]byte // by version
	yanked map[string]bool
}

func newCrateRegistry(t *testing.T) *crateRegistry {
	t.Helper()
	program(t, "cargo")
	r := &crateRegistry{crates: map[string][]byte{}, yanked: map[string]bool{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *crateRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, isCrate := strings.CutPrefix(req.URL.Path, "/crates/greeter/")
	switch {
	case req.URL.Path == "/config.json":
		_, _ = fmt.Fprintf(w, `{"dl":"%s/crates/{crate}/{version}"}`, r.url)
	case req.URL.Path == "/gr/ee/greeter" && len(r.crates) > 0:
		for version, crate := range r.crates {
			sum := sha256.Sum256(crate)
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "greeter", "vers": version, "deps": []any{}, "features": map[string]any{}, "cksum": hex.EncodeToString(sum[:]), "yanked": r.yanked[version]})
		}
	case isCrate && r.crates[version] != nil:
		_, _ = w.Write(r.crates[version])
	default:
		http.NotFound(w, req)
	}
}

// publish makes or replaces a version, whose program prints text.
func (r *crateRegistry) publish(t *testing.T, version, text string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, content := range map[string]string{
		"Cargo.toml":  "[package]\nname = \"greeter\"\nversion = \"" + version + "\"\nedition = \"2021\"\n",
		"Cargo.lock":  "version = 3\n\n[[package]]\nname = \"greeter\"\nversion = \"" + version + "\"\n",
		"src/main.rs": fmt.Sprintf("fn main() { println!(%q); }\n", text),
	} {
		if err := w.WriteHeader(&tar.Header{Name: "greeter-" + version + "/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(content))
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crates[version] = b.Bytes()
}

func (r *crateRegistry) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func TestCratesAreCompiledWithConsentAndChecksum(t *testing.T) {
	t.Parallel()
	r := newCrateRegistry(t)
	r.publish(t, "1.0.0", "hello")
	r.publish(t, "2.0.0-beta.1", "preview")
	s := newInstallStore(t)
	p := install.Package{Type: install.Cargo, Name: "greeter", Registry: "sparse+" + r.url + "/"}
	if _, err := s.Resolve(t.Context(), p); !errors.Is(err, install.ErrScripts) {
		t.Errorf("not allowed: %v", err)
	}
	p.Scripts = true
	l, err := s.Resolve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(r.crates["1.0.0"])
	if want := "sha256:" + hex.EncodeToString(sum[:]); l.Version != "1.0.0" || l.Integrity != want {
		t.Errorf("locked is %+v, want 1.0.0 with %s", l, want)
	}
	program, err := s.Install(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, program); got != "hello" {
		t.Errorf("it prints %q", got)
	}
	if a, err := s.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.0.0"}) {
		t.Errorf("%+v, %v", a, err)
	}
	for version, want := range map[string]error{"7.0.0": install.ErrNotFound, "1.0.0": nil} {
		p.Version = version
		if _, err := s.Resolve(t.Context(), p); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", version, err, want)
		}
	}
	other := newInstallStore(t)
	r.publish(t, "1.0.0", "evil")
	if _, err := other.Install(t.Context(), l); !errors.Is(err, install.ErrIntegrity) {
		t.Errorf("with other bytes: %v", err)
	}
	if _, err := other.Advice(t.Context(), l); !errors.Is(err, install.ErrIntegrity) {
		t.Errorf("advice with other bytes: %v", err)
	}
	r.publish(t, "1.1.0", "newer")
	r.change(func() { r.yanked["1.0.0"] = true })
	if _, err := other.Install(t.Context(), l); !errors.Is(err, install.ErrPulled) {
		t.Errorf("once it is yanked: %v", err)
	}
	if a, err := other.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.1.0", Pulled: true}) {
		t.Errorf("once it is yanked: %+v, %v", a, err)
	}
	r.change(func() { clear(r.crates) })
	if _, err := other.Resolve(t.Context(), p); !errors.Is(err, install.ErrNotFound) {
		t.Errorf("once it is gone: %v", err)
	}
}
