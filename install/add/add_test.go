package add

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/registry"
)

// files returns the files that an Adder wrote: the configuration and its lock.
func files(t *testing.T, a *Adder) (configuration, lock string) {
	t.Helper()
	var texts []string
	for _, path := range []string{a.File, filepath.Join(filepath.Dir(a.File), install.LockName)} {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts[0], texts[1]
}

// withEcho returns an Adder with two versions of a package; with added, the first is already added.
func withEcho(t *testing.T, added bool) (*Adder, *packages) {
	t.Helper()
	a := adder(t)
	p := a.Launcher.Locks.Packages.(*packages)
	p.newest, p.tools = "2.0.0", map[string]string{"1.0.0": "look put", "2.0.0": "look"}
	if added {
		if _, err := a.Add(t.Context(), "npm:@x/echo@1.0.0", Options{NoSandbox: true, Yes: true}); err != nil {
			t.Fatal(err)
		}
	}
	return a, p
}

func TestAddWritesWithConsent(t *testing.T) {
	const first, second = `["-y", "@x/echo@1.0.0"]`, `["-y", "@x/echo@2.0.0"]`
	for _, test := range []struct {
		name    string
		added   bool // a server with the name exists
		word    string
		answers []string
		options Options
		shown   string
		result  string // its name; empty if it is not added
		written string // arguments
		fault   string
	}{
		{"yes", false, "npm:@x/echo@1.0.0", []string{"yes"}, Options{}, "echo is npm:@x/echo 1.0.0\n", "echo", first, ""},
		{"the newest", false, "npm:@x/echo", []string{"yes"}, Options{Name: "other"}, "other is npm:@x/echo 2.0.0\n", "other", second, ""},
		{"no", false, "npm:@x/echo@1.0.0", []string{""}, Options{}, "Nothing was changed.\n", "", "", ""},
		{"no user", false, "npm:@x/echo@1.0.0", nil, Options{}, "echo is npm:@x/echo 1.0.0\n", "", "", "not a terminal: --yes confirms what is shown"},
		{"in advance", false, "npm:@x/echo@1.0.0", nil, Options{Yes: true}, "  offers    2 tools\n", "echo", first, ""},
		{"in place of another", true, "npm:@x/echo@2.0.0", []string{"replace", "yes"}, Options{}, "it replaces echo", "echo", second, ""},
		{"next to another", true, "npm:@x/echo@2.0.0", []string{"keep", "yes"}, Options{}, `[k]eep both, this one as "echo2"`, "echo2", second, ""},
		{"neither", true, "npm:@x/echo@2.0.0", []string{""}, Options{}, `There is a server "echo"`, "", first, "and nothing was changed"},
		{"a name that is taken", true, "npm:@x/echo@2.0.0", nil, Options{Yes: true}, "", "", first, `server "echo" exists already`},
		{"it does not start", false, "npm:@x/echo@9.0.0", nil, Options{Yes: true}, "", "", "", `server "echo" does not start with its entry, so nothing was changed`},
		{"no registry", false, "io.example/tracker", nil, Options{Yes: true}, "", "", "", "io.example/tracker: no registry is configured here"},
		{"no such kind", false, "gem:x", nil, Options{Yes: true}, "", "", "", "use npm:, pypi:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, _ := withEcho(t, test.added)
			user := &scripted{answers: test.answers}
			a.Launcher.Prompter = user
			test.options.NoSandbox = true
			r, err := a.Add(t.Context(), test.word, test.options)
			if text := fmt.Sprint(err); test.fault == "" && err != nil || !strings.Contains(text, test.fault) {
				t.Errorf("the error is %v, want %s", err, test.fault)
			}
			if r == nil != (test.result == "") || r != nil && (r.Name != test.result || r.FirstCall != "junction list tools "+r.Name) {
				t.Errorf("the result is %+v, want %s", r, test.result)
			}
			if !strings.Contains(shown(a), test.shown) || len(user.answers) > 0 {
				t.Errorf("shown is\n%s\nwant %s", shown(a), test.shown)
			}
			configuration, lock := files(t, a)
			if !strings.Contains(configuration, test.written) || test.written == "" && configuration+lock != "" {
				t.Errorf("written is %s %s, want %s", configuration, lock, test.written)
			}
			if r != nil && !strings.Contains(lock, `"tool look": "sha256:`) {
				t.Errorf("the lock is %s", lock)
			}
		})
	}
}

func TestErrorsHaveTheTypeOfTheirCause(t *testing.T) {
	a, _ := withEcho(t, false)
	if _, err := a.Add(t.Context(), "npm:", Options{}); !errors.As(err, new(*commandline.Error)) {
		t.Errorf("of a wrong word: %v", err)
	}
	if _, err := a.Add(t.Context(), "npm:@x/echo@9.0.0", Options{Yes: true, NoSandbox: true}); !errors.As(err, new(*StartError)) {
		t.Errorf("of a program that does not start: %v", err)
	}
}

func TestAnUpgradeShowsTheDifferencesFirst(t *testing.T) {
	a, p := withEcho(t, true)
	configuration, lock := files(t, a)
	upgrade := func(named bool, answers ...string) (Upgraded, error) {
		t.Helper()
		file, err := config.Load(a.File, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a.Launcher.Prompter = &scripted{answers: answers}
		return a.Upgrade(t.Context(), file.Servers[0], named, Options{})
	}
	if u, err := upgrade(false, ""); err != nil || u.Outcome != Declined || !strings.Contains(shown(a), "echo 1.0.0 becomes 2.0.0 (npm @x/echo)\n") || !strings.Contains(shown(a), "  gone     tool put\n  2 definitions are unchanged\n") {
		t.Errorf("declined: %+v, %v, shown is\n%s", u, err, shown(a))
	}
	p.newest = "9.0.0"
	if u, err := upgrade(false, "yes"); !errors.As(err, new(*StartError)) {
		t.Errorf("one that does not start: %+v, %v", u, err)
	}
	if c, l := files(t, a); c != configuration || l != lock {
		t.Errorf("changed is %s %s", c, l)
	}
	p.newest = "2.0.0"
	if u, err := upgrade(false, "yes"); err != nil || u != (Upgraded{Changed, "2.0.0"}) {
		t.Errorf("agreed to: %+v, %v", u, err)
	}
	if c, l := files(t, a); c != strings.Replace(configuration, "1.0.0", "2.0.0", 1) || strings.Contains(l, "1.0.0") {
		t.Errorf("written is %s %s", c, l)
	}
	if u, err := upgrade(false); err != nil || u != (Upgraded{Newest, "2.0.0"}) {
		t.Errorf("again: %+v, %v", u, err)
	}
	if err := os.WriteFile(a.File, []byte(`{"mcpServers": {"loose": {"command": "npx", "args": ["-y", "@x/echo@1.0.0"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err := upgrade(false); err != nil || u.Outcome != NotLocked {
		t.Errorf("of what was never locked: %+v, %v", u, err)
	}
}

func TestProjectServersNeedConsentToTheirLock(t *testing.T) {
	a, p := withEcho(t, false)
	folder := t.TempDir()
	a.File, a.Launcher.Place = filepath.Join(folder, ".mcp.json"), place.Place{Vars: append(os.Environ(), "HOME="+folder, "XDG_STATE_HOME="+folder, "XDG_CACHE_HOME="+folder)}
	if _, err := a.Add(t.Context(), "npm:@x/echo@1.0.0", Options{NoSandbox: true, Yes: true}); err != nil {
		t.Fatal(err)
	}
	p.newest = "1.0.0"
	read := func() launch.Entry {
		file, err := config.Load(a.File, config.Options{})
		if err != nil || len(file.Servers) != 1 || !file.Servers[0].Project {
			t.Fatalf("%+v, %v", file, err)
		}
		return launch.Entry{Name: "echo", Definition: file.Servers[0]}
	}
	e := read()
	if !a.Launcher.StoredConsents()[a.Launcher.ConsentKey(e)] {
		t.Error("the consent to the added server is not stored")
	}
	if u, err := a.Upgrade(t.Context(), e.Definition, false, Options{}); err != nil || u.Outcome != Newest {
		t.Errorf("after consent: %+v, %v", u, err)
	}
	path := filepath.Join(folder, install.LockName)
	lock, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(lock, []byte("look"), []byte("loot")), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Launcher.Locks.Forget(a.File)
	if _, err := a.Upgrade(t.Context(), read().Definition, false, Options{}); !errors.As(err, new(*launch.ConsentError)) {
		t.Errorf("with a changed lock: %v", err)
	}
}

func TestFactsOfLockedServer(t *testing.T) {
	_, p := withEcho(t, false)
	locked := &install.Locked{Package: install.Package{Type: "npm", Name: "@x/echo", Version: "2.0.0"}}
	if o, err := Compare(t.Context(), p, "echo", locked); err != nil || !o.IsCurrent() || o != (Outdated{Server: "echo", Package: "npm:@x/echo", Locked: "2.0.0", Newest: "2.0.0"}) {
		t.Errorf("of the newest: %+v, %v", o, err)
	}
	p.newest, p.known = "3.0.0", []install.Vulnerability{{Package: "y", ID: "CVE-1"}}
	if o, err := Compare(t.Context(), p, "echo", locked); err != nil || o.IsCurrent() {
		t.Errorf("of an older one: %+v, %v", o, err)
	}
	if one, err := Audit(t.Context(), p, "echo", locked); err != nil || len(one.Vulnerabilities) != 1 || one.Error != "" {
		t.Errorf("known are %+v, %v", one, err)
	}
	for fault, want := range map[error]string{errors.New("no network"): "could not be audited: no network", install.ErrNoAudit: install.ErrNoAudit.Error()} {
		p.fault = fault
		if one, err := Audit(t.Context(), p, "echo", locked); err == nil || one.Error != want {
			t.Errorf("%v: %+v, %v", fault, one, err)
		}
	}
}

// listed is a registry with one server.
type listed struct{ server *registry.Server }

func (l listed) Find(context.Context, string) (*registry.Entry, []string, error) {
	return &registry.Entry{Server: l.server, Source: "test"}, []string{"name: looks like another"}, nil
}

func (l listed) Similar(context.Context, string, string) ([]registry.Likeness, error) {
	return nil, nil
}

func TestSecretIsKeptOutsideConfiguration(t *testing.T) {
	s := mcp.NewServer("tracker", "1")
	mcp.AddTool(s, "look", func(context.Context, struct{}) (string, error) { return "", nil })
	handler := streamable.Handler(s)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	a := adder(t, "yes", "t0p", "yes")
	token := registry.Input{IsRequired: true, Value: "Bearer {token}", Variables: map[string]registry.Input{"token": {IsRequired: true, IsSecret: true}}}
	a.Registries = listed{&registry.Server{Name: "io.example/tracker", Remotes: []registry.Remote{{Type: "streamable-http", URL: server.URL, Headers: []registry.Variable{{Name: "Authorization", Input: token}}}}}}
	kept := map[string]string{}
	a.KeepSecret = func(_ context.Context, name, value string) error { kept[name] = value; return nil }
	r, err := a.Add(t.Context(), "io.example/tracker", Options{})
	if err != nil || r == nil || r.NeedsLogin {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []string{"CAREFUL: name: looks like another. Go on?", "{tracker needs token [] (not shown, and kept outside of the configuration) >   true }", "listed       as io.example/tracker, in the registry test"} {
		if !strings.Contains(shown(a), want) {
			t.Errorf("%q is missing of\n%s", want, shown(a))
		}
	}
	configuration, _ := files(t, a)
	if kept["tracker.token"] != "t0p" || !strings.Contains(configuration, `"Bearer ${secret:tracker.token}"`) || strings.Contains(configuration, "t0p") {
		t.Errorf("kept is %q, written is %s", kept, configuration)
	}
}
