package integration

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/install"
)

// A pythonIndex is an index of Python packages that a test makes, changes and takes back.
type pythonIndex struct {
	url string

	mu    sync.Mutex
	files map[string][]byte // by name
	yank  map[string]string // why, by name
}

// newPythonIndex starts an index, and sets pip up for it. Where uv is to be used, it is put into PATH.
func newPythonIndex(t *testing.T, by string) *pythonIndex {
	t.Helper()
	program(t, "python3")
	if by == "uv" {
		dir := t.TempDir()
		if err := os.Symlink(python(t, "uv"), filepath.Join(dir, "uv")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	} else if _, err := exec.LookPath("uv"); err == nil {
		t.Skip("skip: uv is in PATH, and is used in place of pip")
	}
	i := &pythonIndex{files: map[string][]byte{}, yank: map[string]string{}}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.url = server.URL + "/simple"
	for name, value := range map[string]string{"PIP_INDEX_URL": i.url, "PIP_NO_CACHE_DIR": "1", "PIP_FIND_LINKS": "", "UV_CACHE_DIR": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "UV_DEFAULT_INDEX": "", "UV_INDEX_URL": ""} {
		t.Setenv(name, value)
		if value == "" {
			_ = os.Unsetenv(name)
		}
	}
	return i
}

func (i *pythonIndex) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if data, ok := i.files[strings.TrimPrefix(r.URL.Path, "/files/")]; ok {
		_, _ = w.Write(data)
		return
	}
	project := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
	var files []map[string]any
	for name, data := range i.files {
		if !strings.HasPrefix(strings.ReplaceAll(name, "_", "-"), project+"-") {
			continue
		}
		hash := sha256.Sum256(data)
		file := map[string]any{"filename": name, "url": "/files/" + name, "hashes": map[string]string{"sha256": hex.EncodeToString(hash[:])}}
		if why, ok := i.yank[name]; ok {
			file["yanked"] = why
		}
		files = append(files, file)
	}
	if len(files) == 0 || !strings.HasPrefix(r.URL.Path, "/simple/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	_ = json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "name": project, "versions": []string{}, "files": files})
}

// publish makes or replaces a wheel with one module, which is a program too where script is set.
func (i *pythonIndex) publish(t *testing.T, name, version, code, script string, needs ...string) {
	t.Helper()
	module := strings.ReplaceAll(name, "-", "_")
	info := module + "-" + version + ".dist-info/"
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, need := range needs {
		metadata += "Requires-Dist: " + need + "\n"
	}
	files := []struct{ name, text string }{{module + ".py", code}, {info + "METADATA", metadata}, {info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}}
	if script != "" {
		files = append(files, struct{ name, text string }{info + "entry_points.txt", "[console_scripts]\n" + script + " = " + module + ":main\n"})
	}
	i.publishFiles(t, module+"-"+version, files)
}

// publishFiles makes or replaces the wheel of NAME-VERSION, with these files.
func (i *pythonIndex) publishFiles(t *testing.T, of string, files []struct{ name, text string }) {
	t.Helper()
	info := of + ".dist-info/"
	var record strings.Builder
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		hash := sha256.Sum256([]byte(f.text))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(hash[:]), len(f.text))
		add(f.name, f.text)
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	add(info+"RECORD", record.String())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.files[of+"-py3-none-any.whl"] = b.Bytes()
}

func (i *pythonIndex) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

const greeting = "def main():\n    import words\n    print(words.TEXT)\n"

func TestPackagesOfAPythonIndex(t *testing.T) {
	for _, by := range []string{"pip", "uv"} {
		t.Run(by, func(t *testing.T) {
			index := newPythonIndex(t, by)
			index.publish(t, "words", "1.0", "TEXT = 'hello'\n", "")
			index.publish(t, "greeter", "1.0", greeting, "greet", "words>=1")
			index.change(func() {
				index.files["only_source-1.0.tar.gz"] = []byte("x")
				index.files["greeter-1.0.tar.gz"] = []byte("its source")
				index.files["words-1.0.tar.gz"] = []byte("another file of the version")
			})
			s := newInstallStore(t)
			l, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: "Greeter"})
			if err != nil {
				t.Fatal(err)
			}
			wheel := sha256.Sum256(index.files["greeter-1.0-py3-none-any.whl"])
			if want := "sha256:" + hex.EncodeToString(wheel[:]); l.Integrity != want {
				t.Errorf("its integrity is %s, want %s", l.Integrity, want)
			}
			hash := sha256.Sum256([]byte("another file of the version"))
			if want := hex.EncodeToString(hash[:]); l.Version != "1.0" || strings.Join(l.Program, " ") != "./bin/python ./bin/greet" || !strings.Contains(string(l.Dependencies), want) {
				t.Errorf("locked is %+v with %s; there should be %s", l, l.Dependencies, want)
			}
			p, err := s.Install(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if got := output(t, p); got != "hello" {
				t.Errorf("it prints %q", got)
			}
			if a, err := s.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.0"}) {
				t.Errorf("%+v, %v", a, err)
			}
			for name, want := range map[string]error{"none": install.ErrNotFound, "only-source": install.ErrScripts} {
				if _, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: name}); !errors.Is(err, want) {
					t.Errorf("%s: error %v, want that it %v", name, err, want)
				}
			}
			if _, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: "greeter", Version: "7"}); !errors.Is(err, install.ErrNotFound) {
				t.Errorf("a version that is not there: %v", err)
			}
			changedPythonPackages(t, index, l)
		})
	}
}

// changedPythonPackages changes what an index has under versions that are locked.
func changedPythonPackages(t *testing.T, index *pythonIndex, l *install.Locked) {
	t.Helper()
	refused := func(what string, want error) {
		t.Helper()
		t.Setenv("UV_CACHE_DIR", t.TempDir())
		s := newInstallStore(t)
		if _, err := s.Install(t.Context(), l); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want that it %v", what, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir(), "*", "*", "*")); len(left) > 0 {
			t.Errorf("%s: left are %q", what, left)
		}
	}
	index.publish(t, "words", "1.0", "TEXT = 'evil'\n", "")
	refused("a dependency has other bytes", install.ErrIntegrity)
	index.publish(t, "words", "1.0", "TEXT = 'hello'\n", "")
	index.publish(t, "greeter", "1.0", greeting+"print('evil')\n", "greet", "words>=1")
	refused("it has other bytes", install.ErrIntegrity)
	index.publish(t, "greeter", "1.1", greeting, "greet", "words>=1")
	index.change(func() {
		index.yank["greeter-1.0-py3-none-any.whl"], index.yank["greeter-1.0.tar.gz"] = "does harm", "does harm"
	})
	s := newInstallStore(t)
	if a, err := s.Advice(t.Context(), l); err != nil || a != (install.Advice{Newest: "1.1", Pulled: true}) {
		t.Errorf("once it is yanked: %+v, %v", a, err)
	}
	if _, err := s.Resolve(t.Context(), l.Package); !errors.Is(err, install.ErrPulled) || !strings.Contains(err.Error(), "does harm") {
		t.Errorf("once it is yanked: error %v", err)
	}
	index.change(func() {
		delete(index.files, "greeter-1.0-py3-none-any.whl")
		delete(index.files, "greeter-1.0.tar.gz")
	})
	refused("it is gone", install.ErrPulled)
}

func TestPythonPackagesRunNothingWhileTheyAreInstalled(t *testing.T) {
	for _, by := range []string{"pip", "uv"} {
		t.Run(by, func(t *testing.T) {
			index := newPythonIndex(t, by)
			ran := filepath.Join(t.TempDir(), "ran")
			index.publish(t, "words", "1.0", "TEXT = 'hello'\n", "")
			index.publishFiles(t, "greeter-1.0", []struct{ name, text string }{
				{"greeter.py", greeting}, {"greeter.pth", fmt.Sprintf("import os; open(%q, 'a').write('pth ')\n", ran)}, // which Python reads when it starts
				{"greeter-1.0.data/data/pip/__init__.py", ""}, {"greeter-1.0.data/data/pip/__main__.py", fmt.Sprintf("open(%q, 'a').write('pip ')\n", ran)},
				{"greeter-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\nRequires-Dist: words\n"}, {"greeter-1.0.dist-info/entry_points.txt", "[console_scripts]\ngreeter = greeter:main\n"},
				{"greeter-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
			})
			s := newInstallStore(t)
			l, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: "greeter"})
			if err != nil {
				t.Fatal(err)
			}
			if by == "pip" { // as one is that a colleague made with another Python
				var lock map[string]json.RawMessage
				if err := json.Unmarshal(l.Dependencies, &lock); err != nil {
					t.Fatal(err)
				}
				lock["for"] = json.RawMessage(`"cpython 3.1 linux x86_64"`)
				if l.Dependencies, err = json.Marshal(lock); err != nil {
					t.Fatal(err)
				}
			}
			p, err := s.Install(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if what, err := os.ReadFile(ran); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s ran, %v", what, err)
			}
			if compiled, _ := filepath.Glob(filepath.Join(p.Dir, "lib", "*", "site-packages", "__pycache__", "greeter.*.pyc")); len(compiled) != 1 {
				t.Errorf("compiled is %q, and a server that is confined cannot do it", compiled)
			}
			if got := output(t, p); got != "hello" {
				t.Errorf("it prints %q", got)
			}
		})
	}
}

func TestLocksOfAnotherPythonMissPackages(t *testing.T) {
	index := newPythonIndex(t, "pip")
	index.publish(t, "words", "1.0", "TEXT = 'hello'\n", "")
	index.publish(t, "greeter", "1.0", greeting, "greet")
	s := newInstallStore(t)
	l, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: "greeter"})
	if err != nil {
		t.Fatal(err)
	}
	index.publish(t, "greeter", "1.0", greeting, "greet", "words>=1")
	needs, err := s.Resolve(t.Context(), install.Package{Type: install.PyPI, Name: "greeter"})
	if err != nil {
		t.Fatal(err)
	}
	var of, lacking struct {
		For          string            `json:"for"`
		Requirements []json.RawMessage `json:"requirements"`
	}
	if err := errors.Join(json.Unmarshal(needs.Dependencies, &of), json.Unmarshal(l.Dependencies, &lacking)); err != nil {
		t.Fatal(err)
	}
	lacking.For, lacking.Requirements = "cpython 3.1 linux x86_64", of.Requirements[:1] // by name, so it is greeter
	if needs.Dependencies, err = json.Marshal(lacking); err != nil {
		t.Fatal(err)
	}
	_, err = s.Install(t.Context(), needs)
	if want := "it was locked for cpython 3.1 linux x86_64, but this system is " + of.For + ": lock it again (junction server upgrade), with uv for all systems"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "words") {
		t.Errorf("got %v, want %s, and that words is missing", err, want)
	}
}
