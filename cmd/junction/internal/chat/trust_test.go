package chat_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/policy"
)

func TestAProjectsServerInheritsNoTrust(t *testing.T) {
	clitest.NoState(t)
	const servers = `{"mcpServers":{"files":{"command":"run-me"},"search":{"command":"find-it"}}}`
	own := filepath.Join(clitest.PlaceOf(t).Getenv("XDG_CONFIG_HOME"), "junction", "mcp.json")
	for _, path := range []string{own, "one/.mcp.json", "two/.mcp.json"} {
		clitest.Write(t, map[string]string{path: servers})
	}
	clitest.Write(t, map[string]string{"policy.json": `{"trusted":["files"],"public":["search"]}`})
	shown := func(path string, f chat.Flags) string {
		f.Policy = "policy.json"
		setup, _ := clitest.SetUp(t, path, &f)
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
	setup, _ := clitest.SetUp(t, "one/.mcp.json", &chat.Flags{Policy: "policy.json"})
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
	clitest.NoState(t)
	f, err := config.Parse("servers.json", []byte(`{"mcpServers":{"files":{"command":"npx","args":["-y","a"]}}}`), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := (launch.Entry{Name: "files", Definition: f.Servers[0]}).Command(); !slices.Equal(got, []string{"files (stdio): npx -y a"}) {
		t.Errorf("the command is %q", got)
	}
	of := func(url string) host.Server {
		setup, _ := clitest.SetUp(t, "", &chat.Flags{}, url)
		return setup.Options.Servers[0]
	}
	a, b := of("http://127.0.0.1:1/a"), of("http://127.0.0.1:1/b")
	if a.Name != b.Name || policy.OriginOf(a.Origin) == policy.OriginOf(b.Origin) {
		t.Errorf("%s of %q, %s of %q", a.Name, a.Origin, b.Name, b.Origin)
	}
}

// What is not shown of a command line is part of what the server is all the same.
func TestServersThatLookAlikeAreNotOne(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{"one.env": "NODE_OPTIONS=--require=./a.js\n", "two.env": "NODE_OPTIONS=--require=./b.js\n"})
	command := func(path, server, more string) []string {
		t.Helper()
		f, err := config.Parse(path, []byte(`{"mcpServers":{"files":`+server+`}`+more+`}`), config.Options{})
		if err != nil || len(f.Servers) != 1 {
			t.Fatalf("%s: %v, %v", server, err, f.Problems)
		}
		return launch.Entry{Name: "files", Definition: f.Servers[0]}.Command()
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
	clitest.Write(t, map[string]string{"one.env": "NODE_OPTIONS=--require=./b.js\n"})
	if one, other := command("servers.json", `{"command":"npx","envFile":"one.env"}`, ""), command("servers.json", `{"command":"npx","envFile":"two.env"}`, ""); policy.OriginOf(one) == policy.OriginOf(other) {
		t.Errorf("two files are one server: %q", one)
	}
}

// What was read to say which server it is, is what it is started with.
func TestAnEnvironmentFileThatChangesIsNotStartedWith(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{"servers.json": `{"mcpServers":{"files":{"command":"no-such-program","envFile":"one.env"}}}`, "one.env": "A=1\n"})
	p := clitest.StartPlain(t, "servers.json", &chat.Flags{}, "files")
	clitest.Write(t, map[string]string{"one.env": "A=2\n"})
	if err := p.Setup.Host.Restart("files"); err != nil {
		t.Fatal(err)
	}
	p.Server("files", func(s host.ServerTools) bool {
		return strings.Contains(s.Error, "changed since junction chat started")
	})
	p.Quit()
}

func TestNamesOfNoServerAreReported(t *testing.T) {
	clitest.NoState(t)
	_, said := clitest.SetUp(t, "", &chat.Flags{Approve: []string{"everything@0123456789abcdef", "everthing@0123456789abcdef"}, Trust: []string{"filesystem@built-in"}})
	const want = "junction: --approve everthing: there is no such server here (there are: everything, filesystem); did you mean \"everything\"?\n"
	if said != want {
		t.Errorf("it says:\n%swant:\n%s", said, want)
	}
}
