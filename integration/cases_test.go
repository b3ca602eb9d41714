package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A bridgeCase is one thing that a client does with a bridge server, directly or through
// Junction, and what must come of it: the same whatever SDK, era and transport is on
// either side.
type bridgeCase struct {
	name   string
	steps  []step
	verify func(t *testing.T, lines []line)
}

func call(name string) step { return step{"op": "call", "name": name} }

func wait(method string, count int) step {
	return step{"op": "waitNotification", "method": "notifications/" + method, "count": count, "timeoutMs": 5000}
}

// says verifies the text of the last call.
func says(want string) func(*testing.T, []line) {
	return func(t *testing.T, lines []line) {
		t.Helper()
		succeeded(t, lines)
		last := lines[len(lines)-1]
		if last.IsError || last.Text != want {
			t.Errorf("the tool said %q (isError %v), want %q", last.Text, last.IsError, want)
		}
	}
}

// succeeded verifies that no step failed.
func succeeded(t *testing.T, lines []line) {
	t.Helper()
	for _, l := range lines {
		if !l.OK {
			t.Errorf("step %d (%s) failed: %d %s", l.Step, l.Op, l.Error.Code, l.Error.Message)
		}
	}
}

// bridgeCases are run in this order on one connection.
var bridgeCases = []bridgeCase{
	{"the server is listed whole", []step{{"op": "list"}}, verifyListing},
	{"the connection is alive", []step{{"op": "ping"}}, succeeded},
	{"text survives", []step{{"op": "call", "name": "echo", "arguments": map[string]any{"text": "hé ✓ \u2028 \"\\"}}},
		says("hé ✓ \u2028 \"\\")},
	{"one question is answered", []step{call("ask_one")}, says("name=Ada")},
	{"two questions are asked at once and one is declined", []step{call("ask_two")}, says("first=1 second declined")},
	{"a second question depends on the first answer", []step{call("ask_again")}, says("color=red shade=dark")},
	{"the model of the client is asked", []step{call("sample")}, says("sampled: canned words")},
	{"the roots of the client are reported", []step{call("roots")}, says("roots: file:///tmp")},
	{"progress arrives in order", []step{{"op": "call", "name": "progress", "progress": true}, wait("progress", 5)}, verifyProgress},
	{"log messages arrive", []step{{"op": "setLevel", "level": "info"}, call("logs"), wait("message", 3)}, succeeded},
	// The second change leaves the server as it was, and is waited for: other clients would see it when theirs starts the server.
	{"a change of the tools is reported", []step{
		call("change_tools"), wait("tools/list_changed", 1), {"op": "list"},
		call("change_tools"), wait("tools/list_changed", 1),
	}, verifyChange},
	{"an update of a resource is reported", []step{{"op": "subscribe", "uri": "test://watched"}, call("touch"), wait("resources/updated", 1)}, verifyUpdate},
	{"a cancelled call ends at the server", []step{
		{"op": "cancelCall", "name": "slow", "arguments": map[string]any{"ms": 20000}, "afterMs": 400},
		{"op": "sleep", "ms": 400},
		call("was_cancelled"),
	}, says("yes")},
	{"a resource of a template is read", []step{{"op": "read", "uri": "test://item/7"}}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if lines[0].Text != "item 7" || !slices.Equal(lines[0].URIs, []string{"test://item/7"}) {
			t.Errorf("read %q of %q", lines[0].Text, lines[0].URIs)
		}
	}},
	{"a prompt is got", []step{{"op": "prompt", "name": "greet", "arguments": map[string]any{"name": "Ada"}}}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if lines[0].Text != "Hello, Ada" {
			t.Errorf("the prompt is %q", lines[0].Text)
		}
	}},
	{"an argument is completed", []step{{"op": "complete", "ref": step{"type": "ref/prompt", "name": "greet"},
		"argument": step{"name": "name", "value": "al"}}}, func(t *testing.T, lines []line) {
		succeeded(t, lines)
		if !slices.Equal(lines[0].Values, []string{"alice", "albert"}) {
			t.Errorf("completed to %q", lines[0].Values)
		}
	}},
	{"an unknown resource is an error with a code", []step{{"op": "read", "uri": "test://nothing"}}, func(t *testing.T, lines []line) {
		if lines[0].OK {
			t.Error("the read succeeded")
		} else if code := lines[0].Error.Code; code != -32602 && code != -32002 {
			t.Errorf("the error is %d %s", code, lines[0].Error.Message)
		}
	}},
}

var bridgeTools = []string{"ask_again", "ask_one", "ask_two", "change_tools", "echo", "logs", "progress", "roots", "sample", "slow", "touch", "was_cancelled"}

func verifyListing(t *testing.T, lines []line) {
	succeeded(t, lines)
	l := lines[0]
	tools := slices.Sorted(slices.Values(l.Tools))
	tools = slices.DeleteFunc(tools, func(name string) bool { return name == "extra" })
	if !slices.Equal(tools, bridgeTools) {
		t.Errorf("tools are %q", tools)
	}
	if resources := slices.Sorted(slices.Values(l.Resources)); !slices.Equal(resources, []string{"test://static", "test://watched"}) {
		t.Errorf("resources are %q", resources)
	}
	if !slices.Equal(l.Templates, []string{"test://item/{id}"}) {
		t.Errorf("templates are %q", l.Templates)
	}
	if !slices.Equal(l.Prompts, []string{"greet"}) {
		t.Errorf("prompts are %q", l.Prompts)
	}
}

func verifyProgress(t *testing.T, lines []line) {
	says("progressed")(t, lines[:1])
	succeeded(t, lines)
	for i, raw := range lines[1].Params {
		if want := `"step ` + string(rune('1'+i)) + `"`; !strings.Contains(string(raw), want) {
			t.Errorf("progress %d is %s, want %s", i+1, raw, want)
		}
	}
}

func verifyChange(t *testing.T, lines []line) {
	succeeded(t, lines)
	if has := slices.Contains(lines[2].Tools, "extra"); has != (lines[0].Text == "added") {
		t.Errorf("the tool was %s, and it being listed is %v", lines[0].Text, has)
	}
}

func verifyUpdate(t *testing.T, lines []line) {
	succeeded(t, lines)
	for _, raw := range lines[2].Params {
		if !strings.Contains(string(raw), "test://watched") {
			t.Errorf("the update is %s", raw)
		}
	}
}

// runCases runs the bridge cases that are not listed in cannot, and the ways to refuse an
// answer.
func runCases(t *testing.T, client probeClient, target []string, revision string, cannot map[string]string) {
	t.Helper()
	runTable(t, bridgeCases, willing, client, target, revision, cannot)
	if cannot["one question is answered"] != "" {
		return
	}
	for action, want := range map[string]string{"decline": "name declined", "cancel": "name cancelled"} {
		t.Run("an answer may be "+action, func(t *testing.T) {
			got := client.run(t, target, revision, []step{call("ask_one")}, answers{Elicit: elicit{Action: action}})
			says(want)(t, got[1:])
		})
	}
}

// runTable runs all cases that are not listed in cannot, on one connection, and names
// each as a subtest.
func runTable(t *testing.T, table []bridgeCase, say answers, client probeClient, target []string, revision string, cannot map[string]string) {
	t.Helper()
	var script []step
	var cases []bridgeCase
	for _, c := range table {
		if cannot[c.name] == "" {
			cases = append(cases, c)
			script = append(script, c.steps...)
		}
	}
	lines := client.run(t, target, revision, script, say)
	if revision != "" && lines[0].Revision != revision {
		t.Errorf("negotiated %s, want %s", lines[0].Revision, revision)
	}
	next := 1
	for _, c := range cases {
		mine := lines[next : next+len(c.steps)]
		next += len(c.steps)
		t.Run(c.name, func(t *testing.T) { c.verify(t, mine) })
	}
}

// absolute returns a path that holds in any working directory.
func absolute(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// together merges lists of what cannot be done.
func together(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, cannot := range all {
		for name, why := range cannot {
			merged[name] = why
		}
	}
	return merged
}

// noElicitation is what revisions before 2025-06-18 cannot do.
var noElicitation = map[string]string{
	"one question is answered":                            "no elicitation before 2025-06-18",
	"two questions are asked at once and one is declined": "no elicitation before 2025-06-18",
	"a second question depends on the first answer":       "no elicitation before 2025-06-18",
}

// noAsking is a server that cannot ask at all.
var noAsking = together(noElicitation, map[string]string{
	"the model of the client is asked":     "the server asks nothing over this transport",
	"the roots of the client are reported": "the server asks nothing over this transport",
	"a cancelled call ends at the server":  "the server ends no call over this transport",
})

// noUpdates is a server without subscriptions to resources.
var noUpdates = map[string]string{"an update of a resource is reported": "FastMCP has no subscriptions"}

// noListen is a modern server without any subscriptions.
var noListen = together(noUpdates, map[string]string{"a change of the tools is reported": "FastMCP has no subscriptions/listen"})

// serverCannot is what is known of the servers, by name, transport and era: what fails
// with every client, so that it is not Junction's fault when it fails through Junction.
func serverCannot(server, over, era string) map[string]string {
	switch {
	case server == "gosdk" && over == "http" && era == "modern":
		return map[string]string{"a cancelled call ends at the server": "the Go SDK ends no modern HTTP call whose client left"}
	case server == "mcpgo" && over == "http" && era == "legacy":
		return map[string]string{"progress arrives in order": "the two streams of a client of mcp-go read from one queue of its notifications"}
	case server == "mcpgo" && over == "http":
		return map[string]string{"an update of a resource is reported": "mcp-go sends no resource update to a modern HTTP stream"}
	case server == "mcpgo" && over == "sse":
		return noAsking
	case server == "python" && era != "legacy":
		return noListen
	case server == "python":
		return noUpdates
	default:
		return nil
	}
}

// clientCannot is what is known of the clients, by name, transport and revision.
func clientCannot(client, over, revision string) map[string]string {
	cannot := map[string]string{}
	if revision != "" && revision < "2025-06-18" {
		cannot = together(noElicitation)
	}
	if client == "mcpgo" && over == "sse" {
		cannot = together(cannot, noAsking)
	}
	if client == "mcpgo" && over == "http" && revision != modern {
		cannot["a cancelled call ends at the server"] = "mcp-go only closes the POST, which in the legacy era cancels nothing"
	}
	return cannot
}
