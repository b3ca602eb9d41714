package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const (
	legacyNewest = "2025-11-25"
	modern       = "2026-07-28"
)

// A probeClient is a probing client on one SDK; README.md describes what all of them take
// and print.
type probeClient struct {
	name      string
	revisions []string // that it can be made to speak, oldest first
	argv      func(t testing.TB) []string
}

var everyRevision = []string{"2024-11-05", "2025-03-26", "2025-06-18", legacyNewest, modern}

var probeClients = []probeClient{
	{"ts-v1", everyRevision[:4], func(t testing.TB) []string {
		return nodeScript(t, "ts-v1", "clients/ts-v1/client.mjs", "clients/ts/script.mjs")
	}},
	{"ts-v2", everyRevision, func(t testing.TB) []string {
		return nodeScript(t, "ts-v2", "clients/ts-v2/client.mjs", "clients/ts/script.mjs")
	}},
	{"python", everyRevision, func(t testing.TB) []string {
		return []string{python(t, "python"), "clients/python/client.py"}
	}},
	{"gosdk", everyRevision, func(t testing.TB) []string {
		return []string{goProgram(t, ".", "./clients/gosdk")}
	}},
	{"mcpgo", everyRevision, func(t testing.TB) []string {
		return []string{goProgram(t, ".", "./clients/mcpgo")}
	}},
}

// rustClients are not in TestClients: TestRustPeersSeeTheSameThroughJunction has them.
var rustClients = []probeClient{
	{"rmcp", everyRevision, func(t testing.TB) []string { return []string{rustProgram(t, "rmcp-client")} }},
}

func clientNamed(t testing.TB, name string) probeClient {
	t.Helper()
	for _, c := range slices.Concat(probeClients, rustClients) {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no probing client %q", name)
	return probeClient{}
}

// A bridgeServer is a server on one SDK with the tools that README.md describes.
type bridgeServer struct {
	name string
	argv func(t testing.TB) []string
}

var bridgeServers = []bridgeServer{
	{"ts-v1", func(t testing.TB) []string {
		return nodeScript(t, "ts-v1", "servers/ts-v1/server.mjs", "servers/ts/flags.mjs", "servers/ts-v1/shapes.mjs")
	}},
	{"ts-v2", func(t testing.TB) []string {
		return nodeScript(t, "ts-v2", "servers/ts-v2/server.mjs", "servers/ts/flags.mjs")
	}},
	{"python", func(t testing.TB) []string {
		return []string{python(t, "python"), absolute(t, "servers/python/server.py")}
	}},
	{"gosdk", func(t testing.TB) []string {
		return []string{goProgram(t, ".", "./servers/gosdk")}
	}},
	{"mcpgo", func(t testing.TB) []string {
		return []string{goProgram(t, ".", "./servers/mcpgo")}
	}},
	{"rmcp", func(t testing.TB) []string { return []string{rustProgram(t, "rmcp-server")} }},
}

func serverNamed(t testing.TB, name string) bridgeServer {
	t.Helper()
	for _, s := range bridgeServers {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no bridge server %q", name)
	return bridgeServer{}
}

// target returns the flags that lead a client straight to the server: over stdio the
// client starts it, else it is started here.
func (s bridgeServer) target(t testing.TB, over, era string) []string {
	t.Helper()
	argv := s.argv(t)
	if era != "" {
		argv = append(argv, "--era", era)
	}
	if over == "stdio" {
		return append([]string{"--stdio"}, argv...)
	}
	return []string{"--" + over, listening(t, append(argv, "--"+over, "127.0.0.1:0")...)}
}

// step is one step of a script.
type step map[string]any

// answers is what a client says when it is asked.
type answers struct {
	Elicit elicit         `json:"elicit"`
	Sample map[string]any `json:"sample"`
	Roots  []root         `json:"roots"`
	// Declare names the capabilities that the client declares, of elicitation, url,
	// sampling and roots; nil is every one but url. Only ts-v1, ts-v2 and python read it.
	Declare []string `json:"declare,omitzero"`
}

type elicit struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
	Decline []string       `json:"decline,omitempty"`
}

type root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// willing accepts every form but the one that asks for "second".
var willing = answers{
	Elicit: elicit{
		Action:  "accept",
		Content: map[string]any{"name": "Ada", "first": "1", "second": "2", "color": "red", "shade": "dark"},
		Decline: []string{"second"},
	},
	Sample: map[string]any{"text": "canned words"},
	Roots:  []root{{"file:///tmp", "tmp"}},
}

// line is what a client prints of one step; which members are set depends on the step.
type line struct {
	Step   int    `json:"step"`
	Op     string `json:"op"`
	Ms     int    `json:"ms"`
	OK     bool   `json:"ok"`
	Events []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"events"`
	Error struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`

	Revision     string `json:"revision"`
	Instructions string `json:"instructions"`
	Server       struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"server"`
	Capabilities map[string]json.RawMessage `json:"capabilities"`

	Tools     []string `json:"tools"`
	Resources []string `json:"resources"`
	Templates []string `json:"templates"`
	Prompts   []string `json:"prompts"`

	IsError    bool              `json:"isError"`
	Text       string            `json:"text"`
	Types      []string          `json:"types"`
	Structured json.RawMessage   `json:"structured"`
	URIs       []string          `json:"uris"`
	Values     []string          `json:"values"`
	Cancelled  bool              `json:"cancelled"`
	Params     []json.RawMessage `json:"params"`
	Results    []line            `json:"results"`
	Whole      json.RawMessage   `json:"whole"` // of the Rust clients, where the step asks for it
}

// heard reports whether an event of the method came during the step.
func (l line) heard(method string) bool {
	for _, e := range l.Events {
		if e.Method == method {
			return true
		}
	}
	return false
}

// run runs a script and returns one line for connecting and one for each step.
// A client that cannot connect, or does not print every line, fails the test.
func (c probeClient) run(t testing.TB, target []string, revision string, script []step, say answers) []line {
	t.Helper()
	lines := c.try(t, target, revision, script, say)
	if len(lines) == 0 || !lines[0].OK {
		t.Fatalf("client %s did not connect: %+v", c.name, lines)
	}
	if len(lines) != len(script)+1 {
		t.Fatalf("client %s printed %d lines for %d steps", c.name, len(lines), len(script))
	}
	return lines
}

// try is run for scripts that may fail to connect.
func (c probeClient) try(t testing.TB, target []string, revision string, script []step, say answers) []line {
	t.Helper()
	stdout, stderr, err := tryRun(t, nil, c.commandLine(t, target, revision, script, say)...)
	lines := c.parse(t, stdout)
	if err != nil {
		t.Logf("client %s ended with %v; stderr: %.3000s", c.name, err, stderr)
	} else if len(lines) != len(script)+1 {
		t.Logf("client %s: stderr: %.3000s", c.name, stderr)
	}
	return lines
}

// commandLine is what runs a script.
func (c probeClient) commandLine(t testing.TB, target []string, revision string, script []step, say answers) []string {
	t.Helper()
	argv := c.argv(t)
	if revision != "" {
		argv = append(argv, "--revision", revision)
	}
	argv = append(argv, "--script", encode(t, script), "--answers", encode(t, say))
	return append(argv, target...)
}

// parse decodes what the client printed.
func (c probeClient) parse(t testing.TB, stdout string) (lines []line) {
	t.Helper()
	for text := range strings.Lines(stdout) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("client %s printed %q: %v", c.name, text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
