package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/install"
)

// An npmRegistry is a registry of npm with packages that a test makes, changes and takes back.
type npmRegistry struct {
	url string

	mu       sync.Mutex
	packages map[string]map[string]*npmVersion
}

type npmVersion struct {
	manifest map[string]any
	tarball  []byte
}

// newNPMRegistry starts a registry, and sets npm up for it, with an empty cache.
func newNPMRegistry(t *testing.T) *npmRegistry {
	t.Helper()
	program(t, "npm")
	r := &npmRegistry{packages: map[string]map[string]*npmVersion{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	t.Setenv("npm_config_registry", server.URL)
	t.Setenv("npm_config_fetch_retry_mintimeout", "10") // npm asks again twice where bytes are not those of their hash
	t.Setenv("npm_config_fetch_retry_maxtimeout", "10")
	emptyNPMCache(t)
	return r
}

// emptyNPMCache makes npm forget what it has seen.
func emptyNPMCache(t *testing.T) { t.Helper(); t.Setenv("npm_config_cache", scratch(t)) }

// scratch is a folder that a program may still write to when the test ends.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "junction-install-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", dir)
	})
	return dir
}

// publish makes or replaces a version. Its files are those given, and a package.json.
func (r *npmRegistry) publish(t *testing.T, name, version string, manifest map[string]any, files map[string]string) {
	t.Helper()
	manifest["name"], manifest["version"] = name, version
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	all := map[string]string{"package.json": string(text)}
	for file, content := range files {
		all[file] = content
	}
	for _, file := range slices.Sorted(maps.Keys(all)) { // so that the same files have the same hash
		content := all[file]
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "package/" + file, Mode: 0o644, Size: int64(len(content))}), func() error { _, err := w.Write([]byte(content)); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	hash := sha512.Sum512(b.Bytes())
	manifest["dist"] = map[string]any{"integrity": "sha512-" + base64.StdEncoding.EncodeToString(hash[:]), "tarball": r.url + "/" + name + "/-/" + version + ".tgz"}
	if scripts, ok := manifest["scripts"].(map[string]string); ok && (scripts["install"] != "" || scripts["postinstall"] != "") {
		manifest["hasInstallScript"] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages[name] == nil {
		r.packages[name] = map[string]*npmVersion{}
	}
	r.packages[name][version] = &npmVersion{manifest, b.Bytes()}
}

func (r *npmRegistry) change(f func(packages map[string]map[string]*npmVersion)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.packages)
}

func (r *npmRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, err := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
	if err != nil {
		http.NotFound(w, req)
		return
	}
	name, file, isTarball := strings.Cut(path, "/-/")
	versions := r.packages[name]
	if isTarball {
		if v := versions[strings.TrimSuffix(file, ".tgz")]; v != nil {
			_, _ = w.Write(v.tarball)
			return
		}
	} else if len(versions) > 0 {
		all := map[string]any{}
		latest := ""
		for version, v := range versions {
			all[version] = v.manifest
			latest = max(latest, version)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "versions": all, "dist-tags": map[string]string{"latest": latest}})
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("{}"))
}

// publishGreeter publishes a program with a dependency; its package runs a script when it is installed.
func publishGreeter(t *testing.T, r *npmRegistry, ran string) {
	t.Helper()
	r.publish(t, "words", "1.0.0", map[string]any{"main": "index.js"}, map[string]string{"index.js": "module.exports = 'hello'"})
	r.publish(t, "@acme/greeter", "1.0.0", map[string]any{"bin": map[string]string{"greeter": "cli.js"}, "dependencies": map[string]string{"words": "^1.0.0"},
		"scripts": map[string]string{"postinstall": "echo ran > '" + ran + "'"}}, map[string]string{"cli.js": "#!/usr/bin/env node\nconsole.log(require('words'))"})
}

func newInstallStore(t *testing.T) *install.Store {
	t.Helper()
	s, err := install.NewStore(scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// output is what an installed program prints.
func output(t *testing.T, p *install.Program) string {
	t.Helper()
	out, err := exec.Command(p.Argv[0], p.Argv[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v: %s", p.Argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestScriptsOfNPMRequireConsent(t *testing.T) {
	r, ran := newNPMRegistry(t), filepath.Join(t.TempDir(), "ran")
	publishGreeter(t, r, ran)
	s := newInstallStore(t)
	for _, allowed := range []bool{false, true} {
		l, err := s.Resolve(t.Context(), install.Package{Type: install.NPM, Name: "@acme/greeter", Scripts: allowed})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"@acme/greeter@1.0.0"}; !slices.Equal(l.WantScripts, want) || l.Scripts != allowed {
			t.Errorf("allowed %v: locked is %+v", allowed, l)
		}
		p, err := s.Install(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if got := output(t, p); got != "hello" {
			t.Errorf("it prints %q", got)
		}
		if _, err := os.Stat(ran); (err == nil) != allowed {
			t.Errorf("allowed %v: its script left %v", allowed, err)
		}
	}
}

func TestChangedPackagesOfNPMAreRefused(t *testing.T) {
	r := newNPMRegistry(t)
	ran := filepath.Join(t.TempDir(), "ran")
	publishGreeter(t, r, ran)
	l, err := newInstallStore(t).Resolve(t.Context(), install.Package{Type: install.NPM, Name: "@acme/greeter", Version: "^1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	evil := map[string]string{"index.js": "module.exports = 'evil'", "cli.js": "console.log('evil')"}
	for name, test := range map[string]struct {
		change func()
		want   error
		advice error
	}{
		"the package, and the hash with it": {func() {
			r.publish(t, "@acme/greeter", "1.0.0", map[string]any{"bin": map[string]string{"greeter": "cli.js"}, "dependencies": map[string]string{"words": "^1.0.0"}}, evil)
		}, install.ErrIntegrity, install.ErrIntegrity},
		"its bytes only": {func() {
			r.change(func(p map[string]map[string]*npmVersion) {
				p["@acme/greeter"]["1.0.0"].tarball = append(p["@acme/greeter"]["1.0.0"].tarball, 0)
			})
		}, install.ErrIntegrity, nil},
		"a dependency":  {func() { r.publish(t, "words", "1.0.0", map[string]any{"main": "index.js"}, evil) }, install.ErrIntegrity, nil},
		"it was pulled": {func() { r.change(func(p map[string]map[string]*npmVersion) { delete(p["@acme/greeter"], "1.0.0") }) }, install.ErrPulled, nil},
		"a dependency was pulled": {func() {
			r.change(func(p map[string]map[string]*npmVersion) { delete(p["words"], "1.0.0") })
			r.publish(t, "words", "1.0.1", map[string]any{}, evil)
		}, install.ErrPulled, nil},
	} {
		t.Run(name, func(t *testing.T) {
			emptyNPMCache(t)
			r.change(func(p map[string]map[string]*npmVersion) { clear(p) })
			publishGreeter(t, r, ran)
			test.change()
			s := newInstallStore(t)
			if _, err := s.Install(t.Context(), l); !errors.Is(err, test.want) {
				t.Errorf("install: %v, want that it %v", err, test.want)
			} else {
				t.Log(err)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir(), "*", "*", "*")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			if _, err := s.Open(l); !errors.Is(err, install.ErrNotInstalled) {
				t.Errorf("open: %v", err)
			}
			if _, err := s.Advice(t.Context(), l); !errors.Is(err, test.advice) {
				t.Errorf("advice: %v, want %v", err, test.advice)
			}
		})
	}
}

func TestAdvisoriesOfARegistryOfNPM(t *testing.T) {
	r := newNPMRegistry(t)
	publishGreeter(t, r, "none")
	s := newInstallStore(t)
	l, err := s.Resolve(t.Context(), install.Package{Type: install.NPM, Name: "@acme/greeter"})
	if err != nil {
		t.Fatal(err)
	}
	advised := func(want install.Advice) {
		t.Helper()
		if got, err := s.Advice(t.Context(), l); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	advised(install.Advice{Newest: "1.0.0"})
	r.publish(t, "@acme/greeter", "1.1.0", map[string]any{"bin": "x.js"}, nil)
	r.publish(t, "@acme/greeter", "2.0.0-beta.1", map[string]any{"bin": "x.js"}, nil) // and latest, as some do
	r.change(func(p map[string]map[string]*npmVersion) {
		p["@acme/greeter"]["1.0.0"].manifest["deprecated"] = "use\nanother"
	})
	advised(install.Advice{Newest: "1.1.0", Deprecated: "use another"})
	r.change(func(p map[string]map[string]*npmVersion) { delete(p["@acme/greeter"], "1.0.0") })
	advised(install.Advice{Newest: "1.1.0", Pulled: true})
	r.change(func(p map[string]map[string]*npmVersion) { delete(p, "@acme/greeter") })
	advised(install.Advice{Pulled: true})
	if _, err := s.Resolve(t.Context(), l.Package); !errors.Is(err, install.ErrNotFound) {
		t.Errorf("resolved: %v", err)
	}
	if _, err := s.Audit(t.Context(), l); !errors.Is(err, install.ErrNoAudit) || !strings.Contains(err.Error(), "the registry may have no endpoint for audits") {
		t.Errorf("audit: %v", err)
	}
}

// A package's own registry is asked, and not the one that npm is set up for.
func TestThePackageMayNameItsRegistry(t *testing.T) {
	r := newNPMRegistry(t)
	publishGreeter(t, r, "none")
	t.Setenv("npm_config_registry", "http://127.0.0.1:1")
	s := newInstallStore(t)
	l, err := s.Resolve(t.Context(), install.Package{Type: install.NPM, Name: "@acme/greeter", Registry: r.url})
	if err != nil {
		t.Fatal(err)
	}
	if l.Registry != r.url {
		t.Errorf("locked is %+v", l)
	}
	p, err := s.Install(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, p); got != "hello" {
		t.Errorf("it prints %q", got)
	}
}
