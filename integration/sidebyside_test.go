package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A sideClient is one of the clients that use the same endpoint at the same time: a real
// client that has a root of its own, and its own way to answer.
type sideClient struct {
	client   probeClient
	revision string
	over     string // http or sse
	name     string
}

func (c sideClient) root() string { return "file:///of/" + c.name }

func (c sideClient) target(address string) []string {
	return []string{"--" + c.over, "http://" + address + map[string]string{"http": "/mcp", "sse": "/sse"}[c.over]}
}

// answers are those that only this client gives.
func (c sideClient) answers() answers {
	return answers{
		Elicit: elicit{Action: "accept", Content: map[string]any{"name": "person " + c.name}},
		Sample: map[string]any{"text": "words of " + c.name},
		Roots:  []root{{c.root(), "root of " + c.name}},
	}
}

// pairs are a client on the Python SDK and one on a TypeScript SDK, of each mix of eras.
func pairs(t *testing.T) map[string][2]sideClient {
	t.Helper()
	python, v1, v2 := clientNamed(t, "python"), clientNamed(t, "ts-v1"), clientNamed(t, "ts-v2")
	return map[string][2]sideClient{
		"both legacy":           {{python, legacyNewest, "http", "anna"}, {v1, legacyNewest, "http", "bert"}},
		"both modern":           {{python, modern, "http", "anna"}, {v2, modern, "http", "bert"}},
		"legacy next to modern": {{python, legacyNewest, "http", "anna"}, {v2, modern, "http", "bert"}},
		"modern next to legacy": {{python, modern, "http", "anna"}, {v1, "2025-06-18", "http", "bert"}},
		"both HTTP+SSE":         {{python, legacyNewest, "sse", "anna"}, {v1, legacyNewest, "sse", "bert"}},
	}
}

// inParallel runs a script in both clients at the same time: neither starts it before the
// other is connected, and neither leaves before the other is done.
func inParallel(t *testing.T, pair [2]sideClient, address string, scriptOf func(sideClient) []step) [2][]line {
	t.Helper()
	dir := t.TempDir()
	type printed struct {
		stdout, stderr string
		err            error
	}
	var outputs [2]chan printed
	for i, c := range pair {
		here := func(place, name string) string { return filepath.Join(dir, place+" "+name) }
		other, script := pair[1-i], scriptOf(c)
		whole := slices.Concat(
			[]step{{"op": "meet", "make": here("start", c.name), "wait": here("start", other.name), "timeoutMs": 60000}},
			script,
			[]step{{"op": "meet", "make": here("end", c.name), "wait": here("end", other.name), "timeoutMs": 60000}},
		)
		argv := c.client.commandLine(t, c.target(address), c.revision, whole, c.answers())
		done := make(chan printed, 1)
		outputs[i] = done
		go func() {
			stdout, stderr, err := tryRun(t, nil, argv...)
			done <- printed{stdout, stderr, err}
		}()
	}
	var all [2][]line
	for i, c := range pair {
		out := <-outputs[i]
		if strings.Contains(out.stdout, pair[1-i].name) {
			t.Errorf("%s, %s, learned of %s:\n%.3000s", c.name, c.client.name, pair[1-i].name, out.stdout)
		}
		lines := c.client.parse(t, out.stdout)
		if len(lines) != len(scriptOf(c))+3 || !lines[0].OK {
			t.Fatalf("%s, %s, ended with %v and printed\n%.2000s\nstderr: %.2000s", c.name, c.client.name, out.err, out.stdout, out.stderr)
		}
		for _, l := range []line{lines[1], lines[len(lines)-1]} {
			if !l.OK {
				t.Fatalf("%s did not meet the other: %s", c.name, l.Error.Message)
			}
		}
		all[i] = lines[2 : len(lines)-1]
	}
	return all
}

// both is the same script for both clients.
func both(script ...step) func(sideClient) []step {
	return func(sideClient) []step { return script }
}

// everythingServer is the server everything of npm, on standard input and output.
func everythingServer(t testing.TB) []string {
	return npmServer("@modelcontextprotocol/server-everything/dist/index.js", "stdio")(t)
}

// filesystemServer is the server filesystem of npm, with folders.
func filesystemServer(t testing.TB, folders ...string) []string {
	return npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", folders...)(t)
}

// known waits until junction up knows what servers offer.
func known(t *testing.T, env []string, names ...string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		states, errors := standing(t, env)
		if !slices.ContainsFunc(names, func(name string) bool { return states[name] != "connected" && states[name] != "idle" }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the servers are %v, %v", states, errors)
		}
	}
}

// configOf is a configuration of one server, which is named real.
func configOf(t *testing.T, server []string) string {
	t.Helper()
	return upConfig(t, []realServer{{name: "real", argv: func(testing.TB) []string { return server }}})
}

// shared starts `junction up` or `junction proxy` for many clients in front of a server,
// and returns its address and what tool names have in front.
func shared(t *testing.T, command string, server []string) (address, prefix string) {
	t.Helper()
	env, binary := isolated(t), junction(t)
	address = freeAddress(t)
	if command == "proxy" {
		serving(t, env, address, append([]string{binary, "proxy", "--http", address, "--"}, server...)...)
		return address, ""
	}
	serving(t, env, address, binary, "up", "--config", configOf(t, server), "--http", address)
	known(t, env, "real")
	return address, "real__"
}

// Two clients with different roots share a server: neither ever sees a root of the other,
// and nobody is asked for any, as the server would keep them for its one session.
func TestRootsStayWithTheirClient(t *testing.T) {
	t.Parallel()
	junction(t)
	for _, f := range []string{"up", "proxy"} {
		for name, pair := range pairs(t) {
			if f == "proxy" && pair[0].over == "sse" {
				continue // the endpoint is the same code
			}
			t.Run(f+", "+name, func(t *testing.T) {
				t.Parallel()
				address, prefix := shared(t, f, everythingServer(t))
				ask := call(prefix + "get-roots-list")
				// The server asks for roots 350 ms after it started.
				for i, lines := range inParallel(t, pair, address, both(step{"op": "list"}, ask, step{"op": "sleep", "ms": 700}, step{"op": "list"}, ask)) {
					for _, l := range lines {
						if l.heard("roots/list") || strings.Contains(l.Text, "file:///of/") {
							t.Errorf("%s: roots were asked for: %+v", pair[i].name, l)
						}
						if l.Op == "list" && (!slices.Contains(l.Tools, prefix+"echo") || slices.Contains(l.Tools, prefix+"get-roots-list")) {
							t.Errorf("%s: the tools are %q", pair[i].name, l.Tools)
						}
					}
				}
			})
		}
	}
}

// A shared server that lives by roots works with the folders of its command line, not
// with those of a client.
func TestSharedFilesystemKeepsItsFolders(t *testing.T) {
	t.Parallel()
	junction(t)
	for name, pair := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sandbox(t)
			address, prefix := shared(t, "up", filesystemServer(t, dir))
			list := call(prefix + "list_allowed_directories")
			for i, lines := range inParallel(t, pair, address, both(list, step{"op": "sleep", "ms": 300}, list)) {
				for _, l := range []line{lines[0], lines[2]} {
					if got := strings.TrimSpace(strings.TrimPrefix(l.Text, "Allowed directories:")); !l.OK || got != dir {
						t.Errorf("%s: said %q (%+v), want %s", pair[i].name, l.Text, l.Error, dir)
					}
				}
			}
		})
	}
}

// What a shared server asks in a call goes to the client that calls, however the calls of
// two clients cross.
func TestQuestionsGoToTheClientThatCalls(t *testing.T) {
	t.Parallel()
	junction(t)
	for _, f := range []string{"up", "proxy"} {
		for name, pair := range pairs(t) {
			if f == "proxy" && pair[0].over == "sse" {
				continue
			}
			t.Run(f+", "+name, func(t *testing.T) {
				t.Parallel()
				address, prefix := shared(t, f, everythingServer(t))
				// From the first request that names no call on, Junction lets the calls of one
				// client run at a time; before, a request is refused where several run.
				first := pair[0]
				first.client.run(t, first.target(address), first.revision, asking(prefix, first)[:1], first.answers())
				lines := inParallel(t, pair, address, func(c sideClient) []step { return asking(prefix, c) })
				for i, lines := range lines {
					verifyAsked(t, pair[i], lines)
				}
			})
		}
	}
}

// asking makes calls in which the server asks: one by one, and several at a time.
func asking(prefix string, c sideClient) []step {
	form := step{"op": "call", "name": prefix + "trigger-elicitation-request", "timeoutMs": 60000}
	sample := step{"op": "call", "name": prefix + "trigger-sampling-request", "timeoutMs": 60000,
		"arguments": map[string]any{"prompt": "Say something to " + c.name, "maxTokens": 10}}
	echo := calling(prefix+"echo", map[string]any{"message": "between"})
	round := step{"op": "parallel", "steps": []step{form, sample, echo}, "timeoutMs": 90000}
	return []step{sample, form, round, round, round, sample, form}
}

// verifyAsked verifies that each call was answered by the client itself.
func verifyAsked(t *testing.T, c sideClient, lines []line) {
	t.Helper()
	person, words, between := "person "+c.name, "words of "+c.name, "between"
	rounds := []string{person, words, between}
	for i, want := range [][]string{{words}, {person}, rounds, rounds, rounds, {words}, {person}} {
		l := lines[i]
		results := []line{l}
		if l.Op == "parallel" {
			results = l.Results
		}
		for k, r := range results {
			if !r.OK || r.IsError || !strings.Contains(r.Text, want[k]) {
				t.Errorf("%s, %s, step %d.%d: said %.500q (%+v), want %q in it", c.name, c.client.name, l.Step, k, r.Text, r.Error, want[k])
			}
		}
		asked := map[string]int{}
		for _, e := range l.Events {
			asked[e.Method]++
		}
		for method, word := range map[string]string{"elicitation/create": person, "sampling/createMessage": words} {
			// Where calls of one client run at the same time, a request goes to the newest,
			// and to another one when that is over first.
			n, wanted := asked[method], slices.Contains(want, word)
			if wanted && n == 0 || !wanted && n > 0 || l.Op == "call" && n > 1 {
				t.Errorf("%s, %s, step %d: was sent %d times %s", c.name, c.client.name, l.Step, n, method)
			}
		}
	}
}
