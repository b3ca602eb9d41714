package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A loneClient has a server for itself.
type loneClient struct {
	client   probeClient
	revision string
}

func (c loneClient) name() string { return c.client.name + " " + c.revision }

func loneClients(t *testing.T) []loneClient {
	t.Helper()
	return []loneClient{
		{clientNamed(t, "python"), legacyNewest}, {clientNamed(t, "python"), modern},
		{clientNamed(t, "ts-v1"), "2025-06-18"}, {clientNamed(t, "ts-v2"), modern},
	}
}

// use runs a script in the client, in an environment.
func (c loneClient) use(t *testing.T, env, target []string, script []step, say answers) []line {
	t.Helper()
	stdout, stderr, err := tryRun(t, env, c.client.commandLine(t, target, c.revision, script, say)...)
	lines := c.client.parse(t, stdout)
	if len(lines) != len(script)+1 || !lines[0].OK {
		t.Fatalf("%s ended with %v and printed\n%.2000s\nstderr: %.2000s", c.name(), err, stdout, stderr)
	}
	return lines[1:]
}

// ways lead one client to a server: what stands before the server's command line, and
// what tool names have in front.
func ways(t *testing.T, server []string) map[string]struct {
	target []string
	prefix string
} {
	t.Helper()
	binary := junction(t)
	return map[string]struct {
		target []string
		prefix string
	}{
		"proxy --stdio": {append([]string{"--stdio", binary, "proxy", "--stdio", "--"}, server...), ""},
		"up --stdio":    {[]string{"--stdio", binary, "up", "--stdio", "--config", configOf(t, server)}, "real__"},
	}
}

// A server that works in the roots of its client works in those of the one client behind
// Junction, started with folders of its own or without; also when a file is not in them.
func TestFilesystemWorksInTheRootsOfTheOneClient(t *testing.T) {
	t.Parallel()
	junction(t)
	for _, c := range loneClients(t) {
		for folders := range 2 {
			argv, inside, outside := rootsCase(t, folders)
			if c.revision != modern { // the server knows no modern client
				t.Run(strings.Join([]string{c.name(), "direct", []string{"without folders", "with a folder"}[folders]}, ", "), func(t *testing.T) {
					t.Parallel()
					verifyRoots(t, c, isolated(t), append([]string{"--stdio"}, argv...), "", inside, outside)
				})
			}
			for way, to := range ways(t, argv) {
				t.Run(strings.Join([]string{c.name(), way, []string{"without folders", "with a folder"}[folders]}, ", "), func(t *testing.T) {
					t.Parallel()
					env := isolated(t)
					for _, start := range []string{"first start", "second start"} { // when what the server offers is remembered
						t.Run(start, func(t *testing.T) { verifyRoots(t, c, env, to.target, to.prefix, inside, outside) })
					}
				})
			}
		}
	}
}

// rootsCase is the server, with folders or without, a folder that is the client's root,
// and another folder, which may be the server's own.
func rootsCase(t *testing.T, folders int) (argv []string, inside, outside string) {
	t.Helper()
	inside, outside = sandbox(t), sandbox(t)
	return filesystemServer(t, []string{outside}[:folders]...), inside, outside
}

func verifyRoots(t *testing.T, c loneClient, env, target []string, prefix, inside, outside string) {
	t.Helper()
	read := func(dir string) step {
		return calling(prefix+"read_text_file", map[string]any{"path": filepath.Join(dir, "hello.txt")})
	}
	allowed := call(prefix + "list_allowed_directories")
	say := answers{Roots: []root{{"file://" + inside, "project"}}, Declare: []string{"roots"}}
	lines := c.use(t, env, target, []step{
		{"op": "list", "until": prefix + "list_allowed_directories"},
		allowed,
		{"op": "call", "name": prefix + "list_allowed_directories", "until": inside},
		read(inside), read(outside),
	}, say)
	t.Logf("the first call said %q", lines[1].Text)
	if got := strings.TrimSpace(strings.TrimPrefix(lines[2].Text, "Allowed directories:")); got != inside {
		t.Errorf("the server works in %q (%+v), want %s", lines[2].Text, lines[2].Error, inside)
	}
	if l := lines[3]; !l.OK || l.IsError || !strings.Contains(l.Text, "hello from a file") {
		t.Errorf("reading in the root: %q (%+v)", l.Text, l.Error)
	}
	if l := lines[4]; l.OK && !l.IsError {
		t.Errorf("reading outside of the root: %q", l.Text)
	}
	asked := 0
	for _, l := range lines {
		for _, e := range l.Events {
			if e.Method == "roots/list" {
				asked++
			}
		}
	}
	if asked == 0 {
		t.Error("the client was not asked for its roots")
	}
}

// The one client behind Junction sees the tools that it sees directly: the server offers
// some only to those that can be asked. What was remembered of a client that declares
// something else does not count.
func TestToolsFollowTheClientsCapabilities(t *testing.T) {
	t.Parallel()
	junction(t)
	declared := []struct {
		name         string
		capabilities []string
		tools        int
	}{
		{"everything", []string{"elicitation", "url", "sampling", "roots"}, 17},
		{"nothing", []string{}, 13},
		{"roots", []string{"roots"}, 14},
		{"everything again", []string{"elicitation", "url", "sampling", "roots"}, 17},
		{"nothing again", []string{}, 13},
	}
	server := everythingServer(t)
	for _, c := range loneClients(t) {
		direct := c
		if c.revision == modern { // the server knows no modern client
			direct.revision = legacyNewest
		}
		wanted := map[int][]string{} // what the client lists without Junction, by how many there have to be
		for _, d := range declared {
			if wanted[d.tools] == nil {
				wanted[d.tools] = toolsOf(t, direct, isolated(t), append([]string{"--stdio"}, server...), "", answers{Elicit: elicit{Action: "decline"}, Declare: d.capabilities})
			}
		}
		for way, to := range ways(t, server) {
			t.Run(c.name()+", "+way, func(t *testing.T) {
				t.Parallel()
				env := isolated(t)
				for _, d := range declared {
					t.Run(d.name, func(t *testing.T) {
						say := answers{Elicit: elicit{Action: "decline"}, Declare: d.capabilities}
						want := wanted[d.tools]
						got := toolsOf(t, c, env, to.target, to.prefix, say)
						if len(want) != d.tools {
							t.Errorf("directly there are %d tools, want %d", len(want), d.tools)
						}
						if !slices.Equal(got, want) {
							t.Errorf("%d tools: %q\nwant %d: %q", len(got), got, len(want), want)
						}
					})
				}
			})
		}
	}
}

// toolsOf lists the tools, without prefix and sorted, when the first is there.
func toolsOf(t *testing.T, c loneClient, env, target []string, prefix string, say answers) []string {
	t.Helper()
	lines := c.use(t, env, target, []step{{"op": "list", "until": prefix + "echo"}}, say)
	var names []string
	for _, name := range lines[0].Tools {
		names = append(names, strings.TrimPrefix(name, prefix))
	}
	slices.Sort(names)
	return names
}
