package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var hashA, hashB, hashC = "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64), "sha256:" + strings.Repeat("c", 64)

func TestResolutionsOfUVAreRead(t *testing.T) {
	got, err := parseRequirements("# a comment\nanyio==4.16.0 \\\n    --hash=" + hashA + " \\\n    --hash=" + hashB + "\n" +
		"cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\\n    --hash=" + hashC + "\nmcp[cli]==2.3.0 \\\n    --hash=" + hashA + "\n")
	want := []requirement{{"anyio", "4.16.0", "", []string{hashA, hashB}}, {"cffi", "2.1.1", "platform_python_implementation != 'PyPy'", []string{hashC}}, {"mcp", "2.3.0", "", []string{hashA}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, line := range []string{"x @ https://example.com/x.whl --hash=" + hashA, "x==1.0", "-e ."} {
		if got, err := parseRequirements(line + "\n"); err == nil {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
}

// lockedPython returns a Locked with dependencies in which old is replaced by new.
func lockedPython(old, new string) *Locked {
	text := `{"requirements":[{"name":"My_Server","version":"1.0.0","hashes":["` + hashA + `","` + hashB + `"]},{"name":"anyio","version":"4.0.0","marker":"python_version < '3.13'","hashes":["` + hashC + `"]}]}`
	return &Locked{Package: Package{Type: PyPI, Name: "my-server[cli]", Version: "1.0.0"}, Integrity: hashB, Program: []string{"./bin/python", "./bin/my-server"}, Dependencies: json.RawMessage(strings.Replace(text, old, new, 1))}
}

func TestALockOfPythonBecomesRequirementsWithHashes(t *testing.T) {
	lock, err := readPyPILock(lockedPython("", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := "My_Server==1.0.0 --hash=" + hashA + " --hash=" + hashB + "\nanyio==4.0.0 ; python_version < '3.13' --hash=" + hashC + "\n"
	if got := string(lock.text()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestALockOfPythonWithAnythingElseInItIsRefused(t *testing.T) {
	for _, test := range []struct{ old, new string }{
		{`"anyio"`, `"anyio @ https://example.com/x"`}, {`"anyio"`, `"-r /etc/passwd"`}, {`"4.0.0"`, `"4.0.0\n--index-url=https://example.com"`}, {`"4.0.0"`, `""`},
		{`< '3.13'`, `< '3.13'\n--extra-index-url x`}, {`< '3.13'`, `; --hash=x`}, {hashC, "md5:00"}, {hashC, hashC + " --index-url=x"}, {`["` + hashC + `"]`, `[]`},
		{`"1.0.0"`, `"1.0.1"`}, {hashB, hashC}, {`"My_Server"`, `"other"`}, {`{"requirements"`, `["requirements"`},
	} {
		l := lockedPython(test.old, test.new)
		if _, err := readPyPILock(l); err == nil {
			t.Errorf("%s in place of %s is read", test.new, test.old)
		}
		if _, err := newStore(t).Install(t.Context(), l); err == nil {
			t.Errorf("%s in place of %s is installed", test.new, test.old)
		}
	}
}

func TestAReportOfPipIsRead(t *testing.T) {
	item := func(rest string) string {
		return `{"install":[{"metadata":{"name":"My.Server","version":"1.0"},` + rest + `}]}`
	}
	hash := strings.Repeat("a", 64)
	lock, err := readReport([]byte(item(`"download_info":{"archive_info":{"hash":"sha256=` + hash + `"}}`)))
	if want := []requirement{{"my-server", "1.0", "", []string{"sha256:" + hash}}}; err != nil || !reflect.DeepEqual(lock.Requirements, want) {
		t.Errorf("%+v, %v, want %+v", lock, err, want)
	}
	for text, want := range map[string]error{
		item(`"is_yanked":true,"requested":true,"download_info":{"archive_info":{"hashes":{"sha256":"` + hash + `"}}}`): ErrPulled,
		item(`"is_direct":true,"download_info":{"archive_info":{"hashes":{"sha256":"` + hash + `"}}}`):                  nil,
		item(`"download_info":{"vcs_info":{}}`): nil,
		`{`:                                     nil,
	} {
		if _, err := readReport([]byte(text)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
}

func TestTheVersionOfAFileIsInItsName(t *testing.T) {
	for file, want := range map[string]string{
		"my_server-1.0.0-py3-none-any.whl": "1.0.0", "my-server-1.0.0.tar.gz": "1.0.0", "x-2!1.0+local.1.zip": "2!1.0+local.1", "x-1.0.exe": "", "x.whl": "x", "": "",
	} {
		if got := versionOf(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// indexText is an index with a yanked version, a version that has only the source, and an archived
// project.
const indexText = `{"files":[
	{"filename":"my_server-1.0-py3-none-any.whl","hashes":{"sha256":"AA"},"yanked":"broken\nbadly"},
	{"filename":"my_server-1.0.tar.gz","hashes":{"sha256":"AA"},"yanked":true},
	{"filename":"my_server-1.1.tar.gz","hashes":{"sha256":"AA"},"yanked":false},
	{"filename":"my_server-1.2-py3-none-any.whl","hashes":{"sha256":"AA"}}],
	"project-status":{"status":"archived","reason":"use another"}}`

func TestFailuresOfPipAreExplainedByTheIndex(t *testing.T) {
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/simple/my-server/" || r.Header.Get("Accept") != "application/vnd.pypi.simple.v1+json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(indexText, "AA", strings.Repeat("a", 64))))
	}))
	defer index.Close()
	k := pypi{web: newWeb()}
	failed := &commandError{"pip install", errors.New("exited with status 1"), "ERROR: something"}
	for _, test := range []struct {
		p    Package
		err  error
		is   error
		want string
	}{
		{Package{Name: "none"}, failed, ErrNotFound, "is not in the registry: the index has no none"},
		{Package{Name: "my.server", Version: "9.9"}, failed, ErrNotFound, "is not in the registry: the index has no version 9.9 of it"},
		{Package{Name: "my-server[x]", Version: "1.1"}, failed, ErrScripts, "would run its code during the installation: it exists only as source, and a build would run that"},
		{Package{Name: "my-server", Version: "1.1", Scripts: true}, failed, failed, "pip install exited with status 1: ERROR: something"},
		{Package{Name: "my-server", Version: "1.2"}, failed, failed, "pip install exited with status 1: ERROR: something"},
		{Package{Name: "my-server"}, &commandError{"pip", errors.New("x"), "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM"}, ErrIntegrity, "has other contents than the lock: pip x: ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM"},
		{Package{Name: "my-server"}, ErrRuntime, ErrRuntime, "is not on this machine"},
		{Package{Name: "my-server"}, &commandError{"pip", errors.New("x"), "ERROR: Ignored the following versions that require a different python version: 1.1 Requires-Python >=3.12; 1.2 Requires-Python >=3.13,<4\nERROR: Could not find a version that satisfies the requirement my-server (from versions: none)\nERROR: No matching distribution found for my-server"}, ErrRuntime,
			"it needs Python >=3.13,<4, which is not on this machine: install it, so that " + python() + " starts it"},
	} {
		test.p.Registry = index.URL + "/simple/"
		if err := k.explain(t.Context(), test.p, test.err); !errors.Is(err, test.is) || err.Error() != test.want {
			t.Errorf("%+v: error %v, want %s", test.p, err, test.want)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken := &commandError{"pip", errors.New("x"), "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('Failed to establish a new connection')\nERROR: No matching distribution found for my-server"}
	if err := k.explain(t.Context(), Package{Name: "my-server", Registry: gone.URL + "/simple/"}, broken); !strings.HasPrefix(err.Error(), "its index cannot be reached: ") || strings.Contains(err.Error(), "Retrying") {
		t.Errorf("error %v, want that the index cannot be reached", err)
	}
	if err := k.explain(t.Context(), Package{Name: "my-server", Registry: gone.URL + "/simple/"}, failed); err != failed {
		t.Errorf("error %v, want what pip said, which reached its index", err)
	}
	page, err := k.page(t.Context(), Package{Registry: index.URL + "/simple"}, "My_Server")
	if err != nil {
		t.Fatal(err)
	}
	if !page.pulled("1.0") || page.pulled("1.1") || page.pulled("1.2") || page.pulled("7") {
		t.Error("what is pulled is not what the index says")
	}
	files := func(names ...string) *indexPage {
		text := ""
		for i, name := range names {
			text += fmt.Sprintf(`,{"filename":%q,"hashes":{"sha256":"%d"}}`, name, i)
		}
		var page indexPage
		if err := json.Unmarshal([]byte(`{"files":[`+strings.TrimPrefix(text, ",")+`]}`), &page); err != nil {
			t.Fatal(err)
		}
		return &page
	}
	for want, page := range map[string]*indexPage{
		"sha256:2": files("a-1.tar.gz", "a-1-cp311-cp311-linux_x86_64.whl", "a-1-py3-none-any.whl", "a-2-py3-none-any.whl"),
		"sha256:1": files("a-1-cp311-cp311-linux_x86_64.whl", "a-1.tar.gz"),
		"sha256:0": files("a-1-cp311-cp311-linux_x86_64.whl", "a-1-cp312-cp312-linux_x86_64.whl"),
		"":         files("a-2-py3-none-any.whl"),
	} {
		if got := page.mainHash("1"); got != want {
			t.Errorf("what stands for the version is %q, want %q", got, want)
		}
	}
	if got := page.why("1.0"); got != "broken badly" {
		t.Errorf("why: %q", got)
	}
	lock := &pypiLock{Requirements: []requirement{{Name: "my-server", Version: "1.1", Hashes: []string{hashA}}, {Name: "my-server", Version: "1.1", Hashes: []string{hashC}}, {Name: "none", Version: "1", Hashes: []string{hashC}}}}
	k.addHashes(t.Context(), Package{Registry: index.URL + "/simple"}, lock)
	for i, want := range [][]string{{hashA}, {hashC}, {hashC}} { // the file that pip chose must be in the index
		if !slices.Equal(lock.Requirements[i].Hashes, want) {
			t.Errorf("hashes %q, want %q", lock.Requirements[i].Hashes, want)
		}
	}
}

func TestTheIndexIsTheOneThatPipIsSetUpFor(t *testing.T) {
	fakeProgram(t, "python3", `[ "$3" = config ] && cat <<'END'
global.cert='/x'
global.index-url='https://company.example.com/simple'
global.index-url-other='https://wrong.example.com'
install.index-url='https://install.example.com/simple'
download.index-url='https://wrong.example.com'
:env:.index-url="https://env.example.com/simple"
global.extra-index-url='https://wrong.example.com'
END
exit 0`)
	if got := (pypi{}).pipSetting(t.Context(), "index-url"); got != "https://env.example.com/simple" {
		t.Errorf("the index is %q", got)
	}
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_CONFIG_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if got, want := (pypi{}).uvEnv(t.Context(), Package{}), []string{"UV_DEFAULT_INDEX=https://env.example.com/simple"}; !slices.Equal(got, want) {
		t.Errorf("uv gets %q, want %q", got, want)
	}
	if got, want := (pypi{}).uvEnv(t.Context(), Package{Registry: "https://r.example.com"}), []string{"UV_DEFAULT_INDEX=https://r.example.com"}; !slices.Equal(got, want) {
		t.Errorf("uv gets %q, want %q", got, want)
	}
	t.Setenv("UV_INDEX", "https://own.example.com")
	if got := (pypi{}).uvEnv(t.Context(), Package{}); got != nil {
		t.Errorf("uv has settings of its own, and gets %q", got)
	}
}

func TestOfSeveralScriptsThatOfUvxIsChosen(t *testing.T) {
	site := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(site, "bin"), 0o700), os.MkdirAll(filepath.Join(site, "my_module"), 0o700), os.WriteFile(filepath.Join(site, "my_module", "__main__.py"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	choose := func(p Package, plain string, scripts ...string) string {
		for _, name := range scripts {
			if err := os.WriteFile(filepath.Join(site, "bin", name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		words, err := pypiProgram(p, plain, site)
		if err != nil {
			return err.Error()
		}
		return strings.Join(words, " ")
	}
	for _, test := range []struct{ got, want string }{
		{choose(Package{}, "nothing"), "has no program to start: it is a library"},
		{choose(Package{}, "my-module"), "./bin/python -m my_module"},
		{choose(Package{}, "other", "serve"), "./bin/python ./bin/serve"},
		{choose(Package{}, "My.Server", "my-server"), "./bin/python ./bin/my-server"},
		{choose(Package{}, "other"), `has no program "other": choose one of my-server, serve`},
		{choose(Package{Bin: "serve"}, "other"), "./bin/python ./bin/serve"},
		{choose(Package{Bin: "none"}, "my-server"), `has no program "none": choose one of my-server, serve`},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestAProgramWithAnotherNameIsNamedToUvx(t *testing.T) {
	for _, test := range []struct {
		plain string
		words []string
		bin   string
		want  string
	}{
		{"word-server", []string{"./bin/python", "./bin/word_server"}, "word_server", "uvx --from word-server==1.2.3 word_server"},
		{"word-server", []string{"./bin/python", "./bin/word-server"}, "", "uvx word-server==1.2.3"},
		{"word-server", []string{"./bin/python", "-m", "word_server"}, "", "uvx word-server==1.2.3"},
	} {
		bin := uvxBin(test.plain, test.words)
		got := strings.Join(CommandLine("a", &Locked{Package: Package{Type: PyPI, Name: test.plain, Version: "1.2.3", Bin: bin}}), " ")
		if bin != test.bin || got != test.want {
			t.Errorf("%q: %q and %q, want %q and %q", test.words, bin, got, test.bin, test.want)
		}
	}
}

func TestAnEnvironmentOfAMissingPythonIsReinstalled(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	interpreter := filepath.Join(dir, "python3.11")
	if err := os.WriteFile(interpreter, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	l := lockedPython("", "")
	folder := s.folder(l)
	if err := os.MkdirAll(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(interpreter, filepath.Join(folder, "bin", "python")), os.WriteFile(filepath.Join(folder, "bin", "my-server"), nil, 0o700)); err != nil {
		t.Skip(err)
	}
	if err := writeJSON(filepath.Join(folder, markFile), markOf(keyOf(l), folder)); err != nil {
		t.Fatal(err)
	}
	p, err := s.Open(l)
	if want := []string{filepath.Join(folder, "bin", "python"), filepath.Join(folder, "bin", "my-server")}; err != nil || !slices.Equal(p.Argv, want) {
		t.Fatalf("%+v, %v, want %q", p, err, want)
	}
	if err := os.Rename(interpreter, filepath.Join(dir, "python3.12")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(l); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v", err)
	}
}

func TestRequirementsAreNoFlagsOfPip(t *testing.T) {
	for with, want := range map[string]string{"": "", "mcp<2": "mcp<2", "mcp >=1.2, <2": "mcp >=1.2, <2", "rich": "rich"} {
		all, err := wanted(Package{Name: "x", Version: "1.0", With: with})
		if got := strings.Join(all, "\n"); err != nil || got != strings.TrimSuffix("x==1.0\n"+want, "\n") {
			t.Errorf("%q: %q, %v", with, got, err)
		}
	}
	for _, with := range []string{"--index-url=https://evil.example", "-r x", "mcp @ https://evil.example/a.whl", "mcp\n--pre", "<2", "mcp<2;x", " mcp<2", "./mcp", "mcp[cli]<2"} {
		if all, err := wanted(Package{Name: "x", With: with}); err == nil || !strings.Contains(err.Error(), "expected the name of a PyPI package with versions") {
			t.Errorf("%q: %q, %v", with, all, err)
		}
	}
}
