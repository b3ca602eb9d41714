package integration

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rmcpMode is the client on rmcp in one of its lifecycles.
func rmcpMode(mode string) probeClient {
	return probeClient{name: "rmcp " + mode, argv: func(t testing.TB) []string {
		return []string{rustProgram(t, "rmcp-client"), "--mode", mode}
	}}
}

// An observed is one thing that a client does, to be compared with the same through Junction.
type observed struct {
	name string
	step step
}

// whole is a step of which the client prints all that its library keeps.
func whole(s step) step {
	s["whole"] = true
	return s
}

// everythingObserved has the steps that clients do with the reference server.
var everythingObserved = []observed{
	{"", step{"op": "sleep", "ms": 700}}, // it adds tools after the client is initialized
	{"lists", whole(step{"op": "list"})},
	{"ping", step{"op": "ping"}},
	{"echo", whole(calling("echo", map[string]any{"message": "hé ✓"}))},
	{"structured content", whole(calling("get-structured-content", map[string]any{"location": "Chicago"}))},
	{"image", whole(call("get-tiny-image"))},
	{"annotations", whole(calling("get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}))},
	{"resource links", whole(calling("get-resource-links", map[string]any{"count": 2}))},
	{"embedded resource", whole(calling("get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 1}))},
	{"error result", whole(calling("get-sum", map[string]any{"a": "one"}))},
	{"unknown tool", whole(call("nothing"))},
	{"progress", whole(step{"op": "call", "name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 1, "steps": 4}, "progress": true})},
	{"", wait("progress", 4)}, // the library handles notifications and the response at the same time
	{"elicitation", whole(call("trigger-elicitation-request"))},
	{"sampling", whole(calling("trigger-sampling-request", map[string]any{"prompt": "Say something.", "maxTokens": 10}))},
	{"roots", whole(call("get-roots-list"))},
	{"read", step{"op": "read", "uri": "demo://resource/static/document/features.md"}},
	{"read of a template", step{"op": "read", "uri": "demo://resource/dynamic/text/1"}},
	{"unknown resource", step{"op": "read", "uri": "demo://nothing"}},
	{"prompt", step{"op": "prompt", "name": "args-prompt", "arguments": map[string]any{"city": "Oslo", "state": "Norway"}}},
	{"unknown prompt", step{"op": "prompt", "name": "nothing"}},
	{"completion", step{"op": "complete", "ref": step{"type": "ref/prompt", "name": "completable-prompt"}, "argument": step{"name": "department", "value": "E"}}},
	{"level", step{"op": "setLevel", "level": "error"}},
}

// bridgeObserved has the steps that clients do with the bridge server of a Rust library.
var bridgeObserved = []observed{
	{"lists", whole(step{"op": "list"})},
	{"ping", step{"op": "ping"}},
	{"echo", whole(calling("echo", map[string]any{"text": "hé ✓"}))},
	{"structured content", whole(calling("weather", map[string]any{"city": "Oslo"}))},
	{"all kinds of content", whole(call("picture"))},
	{"error result", whole(call("fails"))},
	{"unknown tool", whole(call("nothing"))},
	{"elicitation", whole(call("ask_one"))},
	{"two elicitations", whole(call("ask_two"))},
	{"elicitation after elicitation", whole(call("ask_again"))},
	{"sampling", whole(call("sample"))},
	{"progress", whole(step{"op": "call", "name": "progress", "progress": true})},
	{"", wait("progress", 5)},
	{"level", step{"op": "setLevel", "level": "info"}},
	{"logs", whole(call("logs"))},
	{"", wait("message", 3)},
	{"change", whole(call("change_tools"))},
	{"change is reported", wait("tools/list_changed", 1)},
	{"changed lists", whole(step{"op": "list"})},
	{"subscription", step{"op": "subscribe", "uri": "test://watched"}},
	{"touch", whole(call("touch"))},
	{"update is reported", wait("resources/updated", 1)},
	{"cancellation", step{"op": "cancelCall", "name": "slow", "arguments": map[string]any{"ms": 20000}, "afterMs": 400}},
	{"", step{"op": "sleep", "ms": 400}},
	{"after the cancellation", call("was_cancelled")},
	{"read", step{"op": "read", "uri": "test://item/7"}},
	{"unknown resource", step{"op": "read", "uri": "test://nothing"}},
	{"prompt", step{"op": "prompt", "name": "greet", "arguments": map[string]any{"name": "Ada"}}},
	{"unknown prompt", step{"op": "prompt", "name": "nothing"}},
	{"completion", step{"op": "complete", "ref": step{"type": "ref/prompt", "name": "greet"}, "argument": step{"name": "name", "value": "al"}}},
}

// observe has a client do all steps, and returns by name what it saw.
func observe(t *testing.T, client probeClient, target []string, all []observed) map[string]string {
	t.Helper()
	var script []step
	for _, o := range all {
		script = append(script, o.step)
	}
	lines := client.run(t, target, "", script, obliging)
	seen := map[string]string{}
	for i, o := range all {
		if o.name == "" {
			continue
		}
		l := lines[i+1]
		happened := l.Events
		for j := i + 1; j < len(all) && all[j].name == ""; j++ { // steps that wait for the rest
			happened = append(happened, lines[j+1].Events...)
		}
		var events []string
		for _, e := range happened {
			switch {
			case strings.HasSuffix(e.Method, "/list_changed"), strings.HasSuffix(e.Method, "/updated"): // several may be one, or come a moment later; steps wait for them
			case e.Method == "roots/list", strings.Contains(string(e.Params), "Roots updated"): // whenever the server wants to know
			default:
				events = append(events, e.Method+" "+string(e.Params))
			}
		}
		slices.Sort(events)
		var lists map[string]json.RawMessage
		if l.Op == "list" && json.Unmarshal(l.Whole, &lists) == nil {
			for what, list := range lists {
				seen[o.name+": "+what] = steady(t, list)
			}
			continue
		}
		seen[o.name] = steady(t, object{
			"ok": l.OK, "error": l.Error, "isError": l.IsError, "text": l.Text, "structured": l.Structured, "whole": l.Whole,
			"uris": l.URIs, "values": l.Values, "cancelled": l.Cancelled, "params": l.Params, "events": events,
		})
	}
	return seen
}

// passing matches text that differs between two results of the same: times, tokens, ids, the mark of a complete modern result, and
// that of Junction's changes.
var passing = regexp.MustCompile(`created at [0-9:]+ [AP]M|\\*"progressToken\\*":\d+,|,"resultType":"complete"|\\*"io.github.junction-mcp/changes\\*":\\*"[^"]*",|subscriptionId\\*":\d+`)

func steady(t *testing.T, seen any) string {
	return passing.ReplaceAllString(encode(t, seen), "")
}

// A difference is one between what a client sees through Junction and directly, and why it is.
type difference struct {
	ways []string // through which it is seen
	seen string
	why  string
}

var (
	ownTexts = difference{[]string{"up", "up --stdio"}, "unknown resource", "the gateway says by itself that no server has it"}
	noRoots  = []difference{
		{[]string{"up", "proxy --http"}, "lists: tools", "a server that many clients share learns of no roots, so it offers no tool that asks for them"},
		{[]string{"up", "proxy --http"}, "roots", "the same"},
	}
)

// throughJunction are the ways to a server that lead through Junction. server is a command line, or a URL alone.
var throughJunction = map[string]func(t *testing.T, server []string) []string{
	"proxy --stdio": func(t *testing.T, server []string) []string {
		return overStdio(t, append([]string{"proxy", "--stdio"}, behind(server)...)...)
	},
	"proxy --http": func(t *testing.T, server []string) []string {
		return overHTTP(t, isolated(t), "proxy", behind(server)...)
	},
	"up --stdio": func(t *testing.T, server []string) []string {
		return overStdio(t, "up", "--stdio", "--config", configFor(t, server))
	},
	"up": func(t *testing.T, server []string) []string {
		env := isolated(t)
		target := overHTTP(t, env, "up", "--config", configFor(t, server))
		known(t, env, "peer")
		return target
	},
}

func isURL(server []string) bool { return len(server) == 1 && strings.HasPrefix(server[0], "http") }

// behind are the arguments of junction proxy that name a server.
func behind(server []string) []string {
	if isURL(server) {
		return server
	}
	return append([]string{"--"}, server...)
}

// configFor is a configuration with one server, under its own names.
func configFor(t *testing.T, server []string) string {
	t.Helper()
	entry := object{"command": server[0], "args": server[1:]}
	if isURL(server) {
		entry = object{"url": server[0]}
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	config := encode(t, object{
		"mcpServers": object{"peer": entry},
		"junction":   object{"tools": "all", "servers": object{"peer": object{"prefix": ""}}},
	})
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func overStdio(t *testing.T, argv ...string) []string {
	env := isolated(t)[len(os.Environ()):]
	return slices.Concat([]string{"--stdio", program(t, "env")}, env, []string{junction(t)}, argv)
}

func overHTTP(t *testing.T, env []string, command string, args ...string) []string {
	address := freeAddress(t)
	serving(t, env, address, slices.Concat([]string{junction(t), command, "--http", address}, args)...)
	return []string{"--http", "http://" + address + "/mcp"}
}

// Clients on Rust libraries see the same of servers, the reference server and one on a Rust library, directly and through
// Junction, but for the differences with a reason. A client that only discovers is compared with one that initializes where
// the server is legacy.
func TestRustPeersSeeTheSameThroughJunction(t *testing.T) {
	t.Parallel()
	junction(t)
	rustProgram(t, "rmcp-client")
	everything := func(t *testing.T) []string { return append([]string{"--stdio"}, everythingServer(t)...) }
	rmcp := func(over string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			server := serverNamed(t, "rmcp")
			return bridgeServer{server.name, func(t testing.TB) []string { return append(server.argv(t), "--more") }}.target(t, over, "")
		}
	}
	for _, tt := range []struct {
		client, direct probeClient
		name           string
		target         func(t *testing.T) []string
		all            []observed
		differ         []difference
	}{
		{rmcpMode("initialize"), rmcpMode("initialize"), "everything", everything, everythingObserved, append(noRoots, ownTexts)},
		{rmcpMode("discover"), rmcpMode("initialize"), "everything", everything, everythingObserved, append(noRoots, ownTexts)},
		{rmcpMode("auto"), rmcpMode("auto"), "everything", everything, everythingObserved, append(noRoots, ownTexts)},
		{rmcpMode("initialize"), rmcpMode("initialize"), "rmcp over stdio", rmcp("stdio"), bridgeObserved, []difference{ownTexts}},
		{rmcpMode("discover"), rmcpMode("discover"), "rmcp over stdio", rmcp("stdio"), bridgeObserved, []difference{ownTexts}},
		{rmcpMode("initialize"), rmcpMode("initialize"), "rmcp over http", rmcp("http"), bridgeObserved, []difference{ownTexts}},
		{rmcpMode("discover"), rmcpMode("discover"), "rmcp over http", rmcp("http"), bridgeObserved, []difference{ownTexts}},
	} {
		t.Run(tt.client.name+" to "+tt.name, func(t *testing.T) {
			t.Parallel()
			want := observe(t, tt.direct, tt.target(t), tt.all)
			for way, lead := range throughJunction {
				t.Run(way, func(t *testing.T) {
					t.Parallel()
					got := observe(t, tt.client, lead(t, tt.target(t)[1:]), tt.all)
					for _, name := range slices.Sorted(maps.Keys(want)) {
						isExplained := slices.ContainsFunc(tt.differ, func(d difference) bool { return d.seen == name && slices.Contains(d.ways, way) })
						if (got[name] != want[name]) != isExplained {
							t.Errorf("%s:\n%s\ndirectly:\n%s\nto differ is explained: %v", name, fromDifference(got[name], want[name]), fromDifference(want[name], got[name]), isExplained)
						}
					}
				})
			}
		})
	}
}

// fromDifference returns a text from shortly before where it differs from another.
func fromDifference(text, other string) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	text = text[max(at-200, 0):]
	return text[:min(len(text), 700)]
}
