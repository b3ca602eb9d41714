package main

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

func TestANameIsTrustedWhereThePersonGaveIt(t *testing.T) {
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

// setUp is a chat as these flags and arguments make it, and what was said meanwhile.
func setUp(t *testing.T, configuration string, f *chat.Flags, args ...string) (*chat.Setup, string) {
	t.Helper()
	said := new(bytes.Buffer)
	screen := terminal.NewScreen(said)
	a := cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Screen: screen, Out: screen}, Desk: answer.Desk{Screen: screen}})
	if configuration != "" {
		a.Flags.Config = []string{configuration}
	}
	f.Unsaved = true
	setup, err := chat.SetUpChat(t.Context(), a, &cobra.Command{}, args, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { setup.Close() })
	return setup, said.String()
}

func TestAProjectsServerInheritsNoTrust(t *testing.T) {
	noState(t)
	const servers = `{"mcpServers":{"files":{"command":"run-me"},"search":{"command":"find-it"}}}`
	own := filepath.Join(placeOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	for _, path := range []string{own, "one/.mcp.json", "two/.mcp.json"} {
		write(t, map[string]string{path: servers})
	}
	write(t, map[string]string{"policy.json": `{"trusted":["files"],"public":["search"]}`})
	shown := func(path string, f chat.Flags) string {
		f.Policy = "policy.json"
		setup, _ := setUp(t, path, &f)
		var words []string
		for _, s := range setup.Options.Servers {
			if s.Trusted {
				words = append(words, s.Name+" is trusted")
			}
			if s.Public {
				words = append(words, s.Name+" is public")
			}
		}
		return strings.Join(words, ", ")
	}
	if got := shown(own, chat.Flags{}); got != "files is trusted, search is public" {
		t.Errorf("in the person's own file: %s", got)
	}
	if got := shown("one/.mcp.json", chat.Flags{}); got != "" {
		t.Errorf("in the file of a project: %s", got)
	}
	if got := shown("one/.mcp.json", chat.Flags{Trust: []string{"files"}}); got != "files is trusted" {
		t.Errorf("in the file of a project, with --trust: %s", got)
	}

	// What the person said of the server of this project is kept, and holds for no other one.
	setup, _ := setUp(t, "one/.mcp.json", &chat.Flags{Policy: "policy.json"})
	s := setup.Options.Servers[0]
	if err := setup.Options.RememberTrust(policy.NameOf(s.Name, policy.OriginOf(s.Origin))); err != nil {
		t.Fatal(err)
	}
	if got := shown("one/.mcp.json", chat.Flags{}); got != "files is trusted" {
		t.Errorf("once it was trusted: %s", got)
	}
	if got := shown("two/.mcp.json", chat.Flags{}); got != "" {
		t.Errorf("in the file of another project: %s", got)
	}
}

func TestTwoCommandsOfOneNameAreTwoServers(t *testing.T) {
	noState(t)
	f, err := config.Parse("servers.json", []byte(`{"mcpServers":{"files":{"command":"npx","args":["-y","a"]}}}`), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := (cli.Entry{Name: "files", Definition: f.Servers[0]}).Command(); !slices.Equal(got, []string{"files (stdio): npx -y a"}) {
		t.Errorf("the command is %q", got)
	}
	of := func(url string) host.Server {
		setup, _ := setUp(t, "", &chat.Flags{}, url)
		return setup.Options.Servers[0]
	}
	a, b := of("http://127.0.0.1:1/a"), of("http://127.0.0.1:1/b")
	if a.Name != b.Name || policy.OriginOf(a.Origin) == policy.OriginOf(b.Origin) {
		t.Errorf("%s of %q, %s of %q", a.Name, a.Origin, b.Name, b.Origin)
	}
}

// The same words with another PATH start another program.
func TestTheEnvironmentIsPartOfWhatAServerIs(t *testing.T) {
	command := func(env string) []string {
		t.Helper()
		f, err := config.Parse("servers.json", []byte(`{"mcpServers":{"files":{"command":"npx","args":["a"],"env":`+env+`}}}`), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return cli.Entry{Name: "files", Definition: f.Servers[0]}.Command()
	}
	one := command(`{"PATH":"/usr/bin","TOKEN":"sesame"}`)
	if text := strings.Join(one, " "); strings.Contains(text, "sesame") || strings.Contains(text, "/usr/bin") || !strings.Contains(text, "(hash ") {
		t.Errorf("the command is %q", text)
	}
	for _, test := range []struct {
		env  string
		same bool
	}{
		{`{"TOKEN":"sesame","PATH":"/usr/bin"}`, true},
		{`{"PATH":"/tmp/evil","TOKEN":"sesame"}`, false},
		{`{"PATH":"/usr/bin"}`, false},
		{`{}`, false},
	} {
		if got := command(test.env); (policy.OriginOf(got) == policy.OriginOf(one)) != test.same {
			t.Errorf("%s: the command is %q", test.env, got)
		}
	}
	setenv(t, "TOKEN", "first")
	before := command(`{"TOKEN":"${TOKEN}"}`)
	setenv(t, "TOKEN", "second")
	if got := command(`{"TOKEN":"${TOKEN}"}`); !slices.Equal(got, before) {
		t.Errorf("a token that was renewed makes another server: %q, %q", before, got)
	}
}

// What is not shown of a command line is part of what the server is all the same.
func TestServersThatLookAlikeAreNotOne(t *testing.T) {
	noState(t)
	write(t, map[string]string{"one.env": "NODE_OPTIONS=--require=./a.js\n", "two.env": "NODE_OPTIONS=--require=./b.js\n"})
	command := func(path, server, more string) []string {
		t.Helper()
		f, err := config.Parse(path, []byte(`{"mcpServers":{"files":`+server+`}`+more+`}`), config.Options{})
		if err != nil || len(f.Servers) != 1 {
			t.Fatalf("%s: %v, %v", server, err, f.Problems)
		}
		return cli.Entry{Name: "files", Definition: f.Servers[0]}.Command()
	}
	const input = `{"command":"npx","args":["-y","${input:pkg}"]}`
	for _, test := range []struct{ name, one, other, oneMore, otherMore string }{
		{name: "an argument that is hidden", one: `{"command":"npx","args":["a","--token","one-a1b2c3"]}`, other: `{"command":"npx","args":["a","--token","$(evil)"]}`},
		{name: "the default of a variable", one: `{"command":"npx","args":["${PKG:-good}"]}`, other: `{"command":"npx","args":["${PKG:-evil}"]}`},
		{name: "a command that is a default", one: `{"command":"${RUN:-npx}","args":["a"]}`, other: `{"command":"${RUN:-evil}","args":["a"]}`},
		{name: "a query of a URL", one: `{"url":"https://example.com/mcp?to=one"}`, other: `{"url":"https://example.com/mcp?to=other"}`},
		{name: "a header", one: `{"url":"https://example.com/mcp","headers":{"X-To":"one"}}`, other: `{"url":"https://example.com/mcp","headers":{"X-To":"other"}}`},
		{name: "the folder", one: `{"command":"node","args":["x.js"],"cwd":"/one"}`, other: `{"command":"node","args":["x.js"],"cwd":"/other"}`},
		{name: "the default of a folder", one: `{"command":"node","args":["x.js"],"cwd":"${DIR:-/one}"}`, other: `{"command":"node","args":["x.js"],"cwd":"${DIR:-/other}"}`},
		{name: "what is in the environment file", one: `{"command":"npx","envFile":"one.env"}`, other: `{"command":"npx","envFile":"two.env"}`},
		{name: "a program with blanks in its name", one: `{"command":"npx -y","args":["a"]}`, other: `{"command":"npx","args":["-y","a"]}`},
		{name: "what an input is by default", one: input, other: input, oneMore: `,"inputs":[{"id":"pkg","type":"promptString","default":"good"}]`, otherMore: `,"inputs":[{"id":"pkg","type":"promptString","default":"evil"}]`},
	} {
		one, other := command("servers.json", test.one, test.oneMore), command("servers.json", test.other, test.otherMore)
		if policy.OriginOf(one) == policy.OriginOf(other) || !slices.Equal(one, command("servers.json", test.one, test.oneMore)) {
			t.Errorf("%s: %q and %q", test.name, one, other)
		}
		for _, secret := range []string{"a1b2c3", "good", "require"} {
			if text := strings.Join(one, " "); strings.Contains(text, secret) {
				t.Errorf("%s: %q shows %s", test.name, text, secret)
			}
		}
	}
	if one, other := command("one/servers.json", `{"command":"./run"}`, ""), command("two/servers.json", `{"command":"./run"}`, ""); slices.Equal(one, other) {
		t.Errorf("programs of two folders are %q", one)
	}
	write(t, map[string]string{"one.env": "NODE_OPTIONS=--require=./b.js\n"})
	if one, other := command("servers.json", `{"command":"npx","envFile":"one.env"}`, ""), command("servers.json", `{"command":"npx","envFile":"two.env"}`, ""); policy.OriginOf(one) == policy.OriginOf(other) {
		t.Errorf("two files are one server: %q", one)
	}
}

func TestWordsOfACommandLineAreDistinguished(t *testing.T) {
	seen := map[string][]string{}
	for _, typed := range [][]string{{"sh", "-c", "a b"}, {"sh", "-c", "a", "b"}, {"sh", "-c", `"a b"`}, {"sh", "-c", `"a`, `b"`}, {"sh", "-c", "a", "b", ""}, {"sh", "-c", "a ", "b"}} {
		text := strings.Join(reach.CommandLine(placeOf(t), typed), " ")
		if seen[text] != nil {
			t.Errorf("%q and %q are both %s", typed, seen[text], text)
		}
		seen[text] = typed
	}
	if got := reach.CommandLine(placeOf(t), []string{"npx", "-y", "a"}); !slices.Equal(got, []string{"npx", "-y", "a"}) {
		t.Errorf("plain words are %q", got)
	}
	alone(t)
	write(t, map[string]string{"one/x.js": "", "one/run": "", "two/x.js": "", "two/run": ""})
	for _, typed := range [][]string{{"node", "x.js"}, {"./run"}, {filepath.Join("..", "one", "run"), "(in", "/)"}} {
		chdir(t, "one")
		first := reach.CommandLine(placeOf(t), typed)
		chdir(t, filepath.Join("..", "two"))
		if second := reach.CommandLine(placeOf(t), typed); policy.OriginOf(first) == policy.OriginOf(second) || strings.Join(first, " ") == strings.Join(second, " ") {
			t.Errorf("in two folders %q is %q", typed, second)
		}
		chdir(t, "..")
	}
}

// What was read to say which server it is, is what it is started with.
func TestAnEnvironmentFileThatChangesIsNotStartedWith(t *testing.T) {
	noState(t)
	write(t, map[string]string{"servers.json": `{"mcpServers":{"files":{"command":"no-such-program","envFile":"one.env"}}}`, "one.env": "A=1\n"})
	p := startPlain(t, "servers.json", &chat.Flags{}, "files")
	write(t, map[string]string{"one.env": "A=2\n"})
	if err := p.setup.Host.Restart("files"); err != nil {
		t.Fatal(err)
	}
	p.server("files", func(s host.ServerTools) bool {
		return strings.Contains(s.Error, "is not what it was when junction chat started")
	})
	p.quit()
}

func TestNamesOfNoServerAreReported(t *testing.T) {
	noState(t)
	_, said := setUp(t, "", &chat.Flags{Approve: []string{"everything@0123456789abcdef", "everthing@0123456789abcdef"}, Trust: []string{"filesystem@built-in"}})
	const want = "junction: --approve everthing: there is no such server here (there are: everything, filesystem); did you mean \"everything\"?\n"
	if said != want {
		t.Errorf("it says:\n%swant:\n%s", said, want)
	}
}

func TestTheHelpSaysWhatAnApprovalCovers(t *testing.T) {
	alone(t)
	got := runs(t, "", "chat", "--help")
	if text := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(text, "when it is first seen") || !strings.Contains(text, "SERVER@HASH") {
		t.Errorf("the help is\n%s", got.stdout)
	}
}

func TestAnExplanationKnowsWhichServerItIs(t *testing.T) {
	alone(t)
	write(t, map[string]string{"servers.json": `{"mcpServers":{"files":{"command":"run-me"}}}`})
	write(t, map[string]string{".mcp.json": `{"mcpServers":{"files":{"command":"run-me"}}}`})
	f, err := config.Load(in(t, "servers.json"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := policy.NameOf("files", policy.OriginOf(cli.Entry{Name: "files", Definition: f.Servers[0]}.Command()))
	_, origin, _ := strings.Cut(name, "@")
	rule := `{"name":"this one","effect":"allow","server":"files","origin":"` + origin + `"}`
	write(t, map[string]string{"policy.json": `{"trusted":["files"],"rules":[` + rule + `,{"name":"shipped","effect":"allow","server":"everything","origin":"built-in"}]}`})
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
		} else if err := os.RemoveAll(in(t, ".mcp.json")); err != nil {
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
	noState(t)
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
	noState(t)
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

func TestWhatIsRunIsShownWithoutSecrets(t *testing.T) {
	f, err := config.Parse("servers.json", []byte(`{"mcpServers":{
		"files":{"command":"npx","args":["-y","a b","--token","hunter2"],"env":{"API_KEY":"hunter2"},"cwd":"/srv"},
		"far":{"url":"https://me:hunter2@example.com/mcp?key=hunter2"}}}`), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"shipped": cli.Entry{Name: "everything"}.CommandText()}
	for _, d := range f.Servers {
		got[d.Name] = cli.Entry{Name: d.Name, Definition: d}.CommandText()
	}
	want := map[string]string{"shipped": "", "files": `npx -y "a b" --token *** API_KEY=*** (cwd /srv)`, "far": "https://***@example.com/mcp?key=***"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
