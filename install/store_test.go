package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// archives is a web server of archives, which can be changed. It counts requests.
type archives struct {
	sync.Mutex
	files map[string][]byte
	asked atomic.Int32
}

func (a *archives) set(path string, archive []byte) {
	a.Lock()
	defer a.Unlock()
	a.files[path] = archive
}

func (a *archives) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	a.Lock()
	archive, ok := a.files[r.URL.Path]
	a.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(archive)
}

func serveArchives(t *testing.T) (*archives, string) {
	t.Helper()
	a := &archives{files: map[string][]byte{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.URL
}

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goodBundle returns a bundle with goodManifest.
func goodBundle(t *testing.T) []byte {
	t.Helper()
	return archiveOf(t, member{name: "manifest.json", text: goodManifest}, member{name: "server/index.js", text: "// the server"})
}

func sum(archive []byte) string {
	hash := sha256.Sum256(archive)
	return hex.EncodeToString(hash[:])
}

// holds lists the content of a store's folder, without locks.
func holds(t *testing.T, s *Store) (names []string) {
	t.Helper()
	for _, pattern := range []string{"tmp/*", "blobs/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(s.Dir(), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, _ := filepath.Rel(s.Dir(), path)
			names = append(names, filepath.ToSlash(name))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "blobs/") && strings.Count(name, "/") > 1 })
}

func TestAnInstalledBundleOpensWithoutItsServer(t *testing.T) {
	fakePrograms(t, "node")
	web, address := serveArchives(t)
	bundle := goodBundle(t)
	web.set("/files.mcpb", bundle)
	s := newStore(t)
	l, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: address + "/files.mcpb", SHA256: strings.ToUpper(sum(bundle))})
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != "1.2.0" || l.Integrity != "sha256:"+sum(bundle) || l.Program[1] != "${__dirname}/server/index.js" {
		t.Errorf("locked is %+v", l)
	}
	if _, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("before it is installed: %v", err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			other, err := NewStore(s.Dir()) // like another process
			if err == nil {
				_, err = other.Install(t.Context(), l)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	web.set("/files.mcpb", nil)
	p, err := s.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(p.Argv[1]); err != nil || string(text) != "// the server" {
		t.Errorf("%q, %v", text, err)
	}
	if asked := web.asked.Load(); asked != 1 {
		t.Errorf("the archive was asked for %d times", asked)
	}
	if got := holds(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "mcpb/p127.0.0.1_") && !strings.HasPrefix(got[0], "mcpb/phttp") {
		t.Errorf("the store holds %q", got)
	}
}

func TestChangedBytesAreRefusedAndLeaveNothing(t *testing.T) {
	fakePrograms(t, "node")
	web, address := serveArchives(t)
	bundle := goodBundle(t)
	web.set("/a", bundle)
	s := newStore(t)
	l, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: address + "/a"})
	if err != nil {
		t.Fatal(err)
	}
	changed := archiveOf(t, member{name: "manifest.json", text: goodManifest}, member{name: "server/index.js", text: "// another"})
	other := newStore(t) // its store does not have the archive
	web.set("/a", changed)
	_, err = other.Install(t.Context(), l)
	if want := "mcpb:" + address + "/a@1.2.0: has other contents than the lock: its SHA-256 was " + sum(bundle) + " and is " + sum(changed); !errors.Is(err, ErrIntegrity) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := holds(t, other); len(got) != 0 {
		t.Errorf("the store holds %q", got)
	}
	if _, err := other.Resolve(t.Context(), Package{Type: MCPB, Name: address + "/a", SHA256: sum(bundle)}); !errors.Is(err, ErrIntegrity) {
		t.Errorf("resolved against another hash: %v", err)
	}
	if _, err := other.Advice(t.Context(), l); !errors.Is(err, ErrIntegrity) {
		t.Errorf("advice: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "blobs", sum(bundle)), changed, 0o600); err != nil { // on the disk, between Resolve and Install
		t.Fatal(err)
	}
	if _, err := s.Install(t.Context(), l); !errors.Is(err, ErrIntegrity) {
		t.Errorf("from a changed file: %v", err)
	}
	web.Lock()
	delete(web.files, "/a")
	web.Unlock()
	if _, err := other.Install(t.Context(), l); !errors.Is(err, ErrPulled) {
		t.Errorf("once it is gone: %v", err)
	}
	if a, err := other.Advice(t.Context(), l); err != nil || !a.Pulled {
		t.Errorf("advice once it is gone: %+v, %v", a, err)
	}
	if _, err := other.Resolve(t.Context(), l.Package); !errors.Is(err, ErrNotFound) {
		t.Errorf("resolved once it is gone: %v", err)
	}
}

func TestASignatureAfterABundleIsIgnored(t *testing.T) {
	fakePrograms(t, "node")
	bundle := goodBundle(t)
	signed := slices.Concat(bundle, []byte(signatureBegin+"\x04\x00\x00\x00junk"+signatureEnd))
	file := filepath.Join(t.TempDir(), "a.mcpb")
	if err := os.WriteFile(file, signed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	l, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: file})
	if err != nil {
		t.Fatal(err)
	}
	if l.Integrity != "sha256:"+sum(signed) {
		t.Errorf("its hash is %s, want that of the whole file", l.Integrity)
	}
	if _, err := s.Install(t.Context(), l); err != nil {
		t.Error(err)
	}
	if a, err := s.Advice(t.Context(), l); err != nil || a != (Advice{Newest: "1.2.0"}) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestBundlesThatAreNoneAreRefused(t *testing.T) {
	web, address := serveArchives(t)
	web.set("/none", archiveOf(t, member{name: "README", text: "x"}))
	web.set("/entry", archiveOf(t, member{name: "manifest.json", text: goodManifest}))
	web.set("/up", archiveOf(t, member{name: "manifest.json", text: goodManifest}, member{name: "server/index.js"}, member{name: "../x", text: "x"}))
	s := newStore(t)
	for _, test := range []struct {
		p    Package
		want string
	}{
		{Package{Type: MCPB, Name: address + "/none"}, "the archive has no manifest.json, so it is not an mcpb bundle"},
		{Package{Type: MCPB, Name: address + "/entry"}, `manifest.json has the entry_point "server/index.js", which the archive lacks`},
		{Package{Type: MCPB, Name: address + "/up"}, `the archive's file "../x" lies outside of the archive's folder`},
		{Package{Type: MCPB, Name: address + "/missing"}, "is not in the registry: " + address + "/missing answers 404 Not Found"},
		{Package{Type: MCPB, Name: "http://example.com/a"}, "http://example.com/a is not https, so others on the network could change the download"},
		{Package{Type: MCPB, Name: "ftp://example.com/a"}, "ftp://example.com/a is not https, so others on the network could change the download"},
		{Package{Type: MCPB, Name: "https://user:pass@example.com/a"}, "https://user:xxxxx@example.com/a contains a password, which would be written into the lock: use the package manager's own login"},
		{Package{Type: MCPB, Name: address + "/none", SHA256: "12"}, `has the SHA-256 "12", which is not valid`},
	} {
		_, err := s.Resolve(t.Context(), test.p)
		if want := "mcpb:" + strings.Replace(test.p.Name, "pass", "xxxxx", 1) + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", test.p.Name, err, want)
		}
	}
	if got := holds(t, s); len(got) != 0 {
		t.Errorf("the store holds %q", got)
	}
}

func TestARedirectToPlainHTTPIsNotFollowed(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer secure.Close()
	web := newWeb()
	web.Transport = secure.Client().Transport
	_, err := get(t.Context(), web, secure.URL, "")
	if err == nil || !strings.HasSuffix(err.Error(), "redirects from https to http") {
		t.Errorf("error %v", err)
	}
}

func TestPackagesThatCannotBeOnesAreRefused(t *testing.T) {
	s := newStore(t)
	for _, p := range []Package{
		{Type: "deb", Name: "x"}, {Type: NPM}, {Type: NPM, Name: "a\nb"}, {Type: NPM, Name: strings.Repeat("n", maxPackageName+1)}, {Type: PyPI, Name: "a", Version: "1\r\n--index-url=x"},
		{Type: NPM, Name: "--global"}, {Type: NPM, Name: "../x"}, {Type: NPM, Name: "x", Version: "git+https://example.com/x"}, {Type: NPM, Name: "x", Version: "npm:y"}, {Type: NPM, Name: "x", Version: "file:y"},
		{Type: PyPI, Name: "-r"}, {Type: PyPI, Name: "x @ https://example.com/x"}, {Type: PyPI, Name: "x", Version: "1 --pre"}, {Type: PyPI, Name: "x[a;b]"},
		{Type: Cargo, Name: "--git"}, {Type: Cargo, Name: "x", Version: "*"}, {Type: Cargo, Name: "x\"", Version: "1.0.0"}, {Type: NuGet, Name: "../x"}, {Type: NuGet, Name: "x", Version: "1.0.0/../.."},
		{Type: OCI, Name: "-v", Version: "/:/host"}, {Type: OCI, Name: "a b"}, {Type: OCI, Name: "x@sha256:12"}, {Type: OCI, Name: "x", Version: "a b"},
		{Type: NPM, Name: "x", Registry: "http://example.com"}, {Type: PyPI, Name: "x", Registry: "https://u:p@example.com"}, {Type: NuGet, Name: "x", Registry: "file:///etc"},
	} {
		if l, err := s.Resolve(t.Context(), p); err == nil {
			t.Errorf("%+v was resolved to %+v", p, l)
		}
	}
	if asked := holds(t, s); len(asked) != 0 {
		t.Errorf("the store holds %q", asked)
	}
}

func TestFilesOfAKilledProcessAreSwept(t *testing.T) {
	fakePrograms(t, "node")
	web, address := serveArchives(t)
	web.set("/a", goodBundle(t))
	s := newStore(t)
	l, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: address + "/a"})
	if err != nil {
		t.Fatal(err)
	}
	left, err := s.temporary(keyOf(l))
	if err != nil {
		t.Fatal(err)
	}
	final := s.folder(l)
	if err := os.MkdirAll(filepath.Join(final, "server"), 0o700); err != nil { // complete except for the mark
		t.Fatal(err)
	}
	if _, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(final, markFile), []byte(`{"key":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("with the mark of another: error %v", err)
	}
	if _, err := s.Install(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what was left is still there: %v", err)
	}
	if _, err := s.Open(l); err != nil {
		t.Error(err)
	}
}

func TestEachLockHasAFolder(t *testing.T) {
	s := newStore(t)
	one := Locked{Package: Package{Type: NPM, Name: "@a/b", Version: "1.0.0"}, Integrity: "sha512-x", Program: []string{"node"}}
	dependencies, scripts, name := one, one, one
	dependencies.Dependencies = json.RawMessage(`{"packages":{}}`)
	scripts.Scripts = true
	name.Name = "@a_b"
	seen := map[string]bool{}
	for _, l := range []Locked{one, dependencies, scripts, name} {
		seen[s.folder(&l)] = true
	}
	if len(seen) != 4 {
		t.Errorf("folders %v", seen)
	}
	spaced := dependencies
	spaced.Dependencies = json.RawMessage("{ \"packages\":\n{} }")
	if s.folder(&spaced) != s.folder(&dependencies) {
		t.Error("spaces in the lock make another folder")
	}
}

func TestPruneRemovesUnlockedAndUnusedPackages(t *testing.T) {
	fakePrograms(t, "node")
	web, address := serveArchives(t)
	s := newStore(t)
	var all []*Locked
	for _, path := range []string{"/kept", "/used", "/old"} {
		web.set(path, slices.Concat(goodBundle(t), []byte(signatureBegin+path+signatureEnd)))
		l, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: address + path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Install(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, l := range all {
		if err := os.Chtimes(filepath.Join(s.folder(l), markFile), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(all[1]); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(s.Dir(), "tmp", "resolve-1")
	for _, path := range []string{stray, filepath.Join(s.Dir(), "tmp", "resolve-2")} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(stray, long, long); err != nil {
		t.Fatal(err)
	}
	freed, err := s.Prune(t.Context(), all[:1], 24*time.Hour)
	if want := int64(len(goodManifest) + len("// the server")); err != nil || freed < want || freed > want+200 {
		t.Errorf("freed %d, %v, want about %d", freed, err, want)
	}
	for i, want := range []error{nil, nil, ErrNotInstalled} {
		if _, err := s.Open(all[i]); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", all[i].Name, err, want)
		}
	}
	if got, _ := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*")); len(got) != 1 || filepath.Base(got[0]) != "resolve-2" {
		t.Errorf("left are %q", got)
	}
}

func TestAnArchiveThatDoesNotEndIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("writes half a gigabyte")
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		block := bytes.Repeat([]byte("x"), 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	s := newStore(t)
	_, err := s.Resolve(t.Context(), Package{Type: MCPB, Name: endless.URL + "/a"})
	if want := "has more than 536870912 bytes"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := holds(t, s); len(got) != 0 {
		t.Errorf("the store holds %q", got)
	}
}
