package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/policy"
)

func TestNamesGivenByTheUserAreTrusted(t *testing.T) {
	first, second := []string{"npx", "-y", "a"}, []string{"npx", "-y", "b"}
	bound := policy.NameOf("npx", policy.OriginOf(first))
	for _, test := range []struct {
		name    string
		trusted []string
		command []string
		own     bool
		want    bool
	}{
		{"by name, as it is configured", []string{"npx"}, second, true, true},
		{"by name, as the command line has none", []string{"npx"}, second, false, false},
		{"by name, with blanks", []string{" npx "}, second, false, false},
		{"the package that was trusted", []string{"npx", bound}, first, false, true},
		{"another package of that name", []string{"npx", bound}, second, false, false},
		{"another package of that name, configured", []string{bound}, second, true, false},
		{"another server", []string{"files"}, first, true, false},
	} {
		if got := policy.Vouches(test.trusted, "npx", test.command, test.own); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestHelpExplainsApprovals(t *testing.T) {
	clitest.Alone(t)
	got := runs(t, "", "chat", "--help")
	if text := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(text, "without seeing them, when it is new") || !strings.Contains(text, "SERVER@HASH") {
		t.Errorf("the help is\n%s", got.stdout)
	}
}

func TestAnExplanationKnowsWhichServerItIs(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers":{"files":{"command":"run-me"}}}`})
	clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{"files":{"command":"run-me"}}}`})
	f, err := config.Load(clitest.In(t, "servers.json"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := policy.NameOf("files", policy.OriginOf(launch.Entry{Name: "files", Definition: f.Servers[0]}.Command()))
	_, origin, _ := strings.Cut(name, "@")
	rule := `{"name":"this one","effect":"allow","server":"files","origin":"` + origin + `"}`
	clitest.Write(t, map[string]string{"policy.json": `{"trusted":["files"],"rules":[` + rule + `,{"name":"shipped","effect":"allow","server":"everything","origin":"built-in"}]}`})
	for _, test := range []struct{ server, configuration, want string }{
		{"files", "servers.json", `"rule":{"name":"this one"`},
		{"files", "servers.json", `"trusted":true`},
		{"files", ".mcp.json", `"rule":{"name":"default"`},
		{"everything", "", `"rule":{"name":"shipped"`},
		{"nobody", "", `"rule":{"name":"default"`},
	} {
		args := []string{"policy", "explain", test.server, "write", "--offline", "--json", "--policy", "policy.json"}
		if test.configuration != "" {
			args = append(args, "--config", test.configuration)
		} else if err := os.RemoveAll(clitest.In(t, ".mcp.json")); err != nil {
			t.Fatal(err)
		}
		got := runs(t, "", args...)
		if !strings.Contains(got.stdout, test.want) || test.configuration == ".mcp.json" && strings.Contains(got.stdout, `"trusted":true`) {
			t.Errorf("%s of %q: %+v", test.server, test.configuration, got)
		}
	}
}

// A server that nobody vouched for is seen by the model only when it was approved;
// when what it defines changes, that is asked again.
func TestServersAreApprovedBeforeTheModelSeesThem(t *testing.T) {
	clitest.NoState(t)
	server := append([]string{"--"}, self(t, "serve", "everything")...)
	name := host.ServerName(server[1])
	got := runs(t, "", append([]string{"chat", "-p", "add 2 and 40"}, server...)...)
	if strings.Contains(got.stdout, "42") || !strings.Contains(got.stderr, "--approve "+name) {
		t.Fatalf("not approved: %+v", got)
	}
	got = runs(t, "", append([]string{"chat", "-p", "add 2 and 40", "--approve", name, "--allow", name + "/add"}, server...)...)
	if got.stdout != "42\n" {
		t.Fatalf("approved: %+v", got)
	}
	got = runs(t, "", append([]string{"chat", "-p", "add 1 and 1", "--allow", name + "/add"}, server...)...)
	if got.stdout != "2\n" {
		t.Errorf("approved before: %+v", got)
	}
}

// The server itself is pinned, not what stands between it and the host.
func TestAServerOfAnotherVersionIsReviewedAgain(t *testing.T) {
	clitest.NoState(t)
	var current atomic.Pointer[http.Handler]
	install := func(version string) {
		s := mcp.NewServer("calc", version)
		mcp.AddTool(s, "double", func(_ context.Context, in struct{ N int }) (int, error) { return 2 * in.N, nil })
		h := http.Handler(streamable.Handler(s))
		current.Store(&h)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	defer web.Close()
	name := host.ServerName(web.URL)
	double := func(flags ...string) outcome {
		return runs(t, "", append([]string{"chat", web.URL, "-p", "double N=21", "--allow", name + "/double"}, flags...)...)
	}
	install("1.0")
	if got := double("--approve", name); got.stdout != "42\n" {
		t.Fatalf("approved: %+v", got)
	}
	if got := double(); got.stdout != "42\n" {
		t.Fatalf("approved before: %+v", got)
	}
	install("1.1")
	for _, flags := range [][]string{nil, {"--approve", name}} {
		if got := double(flags...); strings.Contains(got.stdout, "42") || !strings.Contains(got.stderr, "--approve "+name+"@") {
			t.Fatalf("another version, with %q: %+v", flags, got)
		}
	}
	_, hash, _ := strings.Cut(double().stderr, name+"@")
	hash, _, _ = strings.Cut(hash, ")")
	install("1.2")
	if got := double("--approve", name+"@"+hash); strings.Contains(got.stdout, "42") {
		t.Errorf("a change that was not named: %+v", got)
	}
	install("1.1")
	if got := double("--approve", name+"@"+hash); got.stdout != "42\n" {
		t.Errorf("the change that was named: %+v", got)
	}
	if got := double(); got.stdout != "42\n" {
		t.Errorf("the change that was approved before: %+v", got)
	}
}
