package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// cloned makes a project of somebody else whose lock has a server.
func cloned(t *testing.T, s *packageSet, change func(lock string) string) {
	t.Helper()
	clitest.Alone(t)
	s.runs(t, "y\n", "add", "npm:@x/echo@1.0.0", "--project").expect(t, cli.ExitOK, "Added", "")
	editLock(t, change)
	path, err := clitest.PlaceOf(t).State("projects.json")
	if err == nil {
		err = os.Remove(clitest.In(t, path))
	}
	if err != nil {
		t.Fatal(err)
	}
	clear(s.installed)
	s.heard = nil
}

func editLock(t *testing.T, change func(lock string) string) {
	t.Helper()
	lock, err := os.ReadFile(clitest.In(t, install.LockName))
	if err == nil {
		err = os.WriteFile(clitest.In(t, install.LockName), []byte(change(string(lock))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func withScripts(lock string) string {
	return strings.Replace(lock, `"integrity":`, `"scripts": true, "integrity":`, 1)
}

func TestAProjectsLockIsInstalledOnlyWithConsent(t *testing.T) {
	s := newPackageSet(t)
	cloned(t, s, withScripts)
	for _, args := range [][]string{{"upgrade", "--yes"}, {"upgrade", "echo", "--yes"}, {"install"}, {"install", "echo", "--scripts"}} {
		s.runs(t, "", args...).expect(t, cli.ExitConnection, "", "there is no terminal for questions")
	}
	s.runs(t, "n\n", "upgrade", "echo").expect(t, cli.ExitConnection, "", "runs install scripts")
	if len(s.installed) > 0 {
		t.Fatalf("installed is %v", s.installed)
	}
	s.runs(t, "y\n", "install", "echo").expect(t, cli.ExitConnection, "", "--scripts allows that")
	if len(s.installed) > 0 {
		t.Fatalf("installed is %v", s.installed)
	}
	s.runs(t, "", "install", "--scripts").expect(t, cli.ExitOK, "is installed", "")
	s.runs(t, "", "upgrade", "--yes").expect(t, cli.ExitOK, "echo: upgraded to 2.0.0.", "")
}

func TestNoRegistryIsAskedAboutAProjectsLockWithoutConsent(t *testing.T) {
	for _, command := range []string{"outdated", "audit-deps"} {
		s := newPackageSet(t)
		cloned(t, s, func(lock string) string { return lock })
		for _, test := range []struct{ typed, why string }{
			{"", "there is no terminal for questions; to use its definitions without a question, name it: --config "},
			{"n\n", "is not started: refused\n"},
		} {
			for _, args := range [][]string{{command}, {command, "--json"}} {
				if o := s.runs(t, test.typed, append(args, "echo")...); o.code != cli.ExitConnection || !strings.Contains(o.stderr, test.why) || len(s.heard) > 0 {
					t.Errorf("%q, typed %q: exit code %d, %s, and a registry heard of %q; want %q", args, test.typed, o.code, o.stderr, s.heard, test.why)
				}
			}
		}
		s.runs(t, "", command, "--config", "junction.json", "--json").expect(t, cli.ExitOK, "servers", "")
		s.runs(t, "y\n", command, "echo", "--json").expect(t, cli.ExitOK, "servers", "")
		s.runs(t, "", command, "--json").expect(t, cli.ExitOK, "servers", "") // what was agreed to is remembered
		if want := []string{"@x/echo", "@x/echo", "@x/echo"}; !slices.Equal(s.heard, want) {
			t.Errorf("%s: a registry heard of %q, want %q", command, s.heard, want)
		}
	}
}

func TestConsentShowsPermissionsOfAProjectsLock(t *testing.T) {
	for _, test := range []struct {
		why, want string
		change    func(lock string) string
	}{
		{"as add locks it", "node ./index.js; is confined to its own package\n", func(lock string) string { return lock }},
		{"scripts", "; runs install scripts; is confined to its own package\n", withScripts},
		{"no sandbox", "; is not confined\n", func(lock string) string { return strings.Replace(lock, `"sandbox": {}`, `"source": "x"`, 1) }},
		{"a profile", "; is confined, except for write ~/, host *.example.com\n", func(lock string) string {
			return strings.Replace(lock, `"sandbox": {}`, `"sandbox": {"write": ["~/"], "hosts": ["*.example.com"]}`, 1)
		}},
		{"a path whose end is far", "write /srv/" + strings.Repeat("./", 300) + "../home\n", func(lock string) string {
			return strings.Replace(lock, `"sandbox": {}`, `"sandbox": {"write": ["/srv/`+strings.Repeat("./", 300)+`../home"]}`, 1)
		}},
		{"a container", "; runs in a container of docker evil.example/node; is confined, except for host *\n", func(lock string) string {
			return strings.Replace(lock, `"sandbox": {}`, `"sandbox": {"by": "docker", "image": "evil.example/node", "hosts": ["*"]}`, 1)
		}},
		{"another command line", "then it is not confined\n", func(lock string) string {
			clitest.Write(t, map[string]string{"junction.json": `{"mcpServers": {"echo": {"command": "npx", "args": ["-y", "@x/echo@2.0.0"]}}}`})
			return strings.Replace(lock, `"sandbox": {}`, `"source": "x"`, 1)
		}},
	} {
		s := newPackageSet(t)
		cloned(t, s, test.change)
		s.runs(t, "n\n", "call", "echo", "echo", "message=hi").expect(t, cli.ExitConnection, "", test.want)
	}
}

func TestALockThatChangesAfterTheQuestionStartsNothing(t *testing.T) {
	s := newPackageSet(t)
	cloned(t, s, func(lock string) string { return lock })
	a, _ := clitest.Asking(t, "y\n")
	a.Launch.Locks.Packages = s
	t.Cleanup(func() { _ = a.Launch.Close() })
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Launch.Consent(t.Context(), entries[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Launch.Target(t.Context(), entries[0]); err != nil {
		t.Errorf("what was agreed to: %v", err)
	}
	editLock(t, func(lock string) string { return strings.Replace(lock, "./index.js", "./evil.js", 1) })
	a.Launch.Locks.Forget(entries[0].Definition.Source)
	if _, err := a.Launch.Target(t.Context(), entries[0]); !errors.As(err, new(*launch.ConsentError)) || !strings.Contains(err.Error(), "changed since the question") {
		t.Errorf("what came meanwhile: %v", err)
	}
	if err := os.Remove(clitest.In(t, install.LockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Launch.Target(t.Context(), entries[0]); !errors.As(err, new(*launch.ConsentError)) {
		t.Errorf("no lock any more: %v", err)
	}
}

func TestLockChangesApproveNothingOfARunningServer(t *testing.T) {
	s := newPackageSet(t)
	clitest.Alone(t)
	s.runs(t, "", "add", "npm:@x/echo@1.0.0", "--yes").expect(t, cli.ExitOK, "Added", "")
	a, _ := clitest.Asking(t, "")
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := layer.Open(&settings.Settings{Review: string(review.Changes)}, layer.Options{Place: clitest.PlaceOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	v := &up.Served{App: a}
	made := func() mcp.Middleware {
		var u gateway.Upstream
		y.Around(v.Source().Server(entries[0]).Server, &u)
		return func(h mcp.Handler) mcp.Handler { return mcp.Chain(h, u.Middleware...) }
	}
	const late = `{"name":"late","description":"Nobody reviewed this.","inputSchema":{"type":"object"}}`
	lists := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"tools":[` + late + `]}`)}, nil
	})
	names := func(around mcp.Middleware) (names []string) {
		for tool, err := range mcp.NewClient(around(lists)).Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		return names
	}
	running := made()
	if got := names(running); len(got) > 0 {
		t.Errorf("before it is locked: %q", got)
	}
	d := review.Definitions("echo", []json.RawMessage{json.RawMessage(late)}, nil)[0]
	path := filepath.Join("junction", install.LockName)
	lock, err := os.ReadFile(clitest.In(t, path))
	if err == nil {
		err = os.WriteFile(clitest.In(t, path), []byte(strings.Replace(string(lock), `"definitions": {`, `"definitions": {"tool late": "`+y.Pins.Load().Check(d).Hash+`",`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Launch.Locks.Forget(entries[0].Definition.Source)
	if got := names(running); len(got) > 0 {
		t.Errorf("of the server that was made before: %q", got)
	}
	if got := names(made()); !slices.Equal(got, []string{"late"}) {
		t.Errorf("of one that is made now: %q", got)
	}
}
