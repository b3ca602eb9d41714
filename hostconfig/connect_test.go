package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var upStdio = Endpoint{Command: "/opt/junction", Args: []string{"up", "--stdio"}}

// replaceable returns the entries that connect removes: those for all projects that can be carried.
func replaceable(d *Document) (list []*Entry) {
	for _, e := range d.Entries {
		if _, err := e.Carry(""); err == nil && e.Scope == "" {
			list = append(list, e)
		}
	}
	return list
}

func TestConnectReplacesServersInEachFormat(t *testing.T) {
	for _, test := range []struct{ host, path, data, want string }{
		{"claude-desktop", "claude_desktop_config.json", sampleOf("claude-desktop", 0), `{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "junction": {
      "command": "/opt/junction",
      "args": ["up", "--stdio"]
    }
  },
  "preferences": {"n": 1.50e3, "x": null}
}
`},
		{"claude-code", ".claude.json", sampleOf("claude-code", 0), `{"numStartups":3,"mcpServers":{"junction": {"type": "stdio", "command": "/opt/junction", "args": ["up", "--stdio"]}},
 "projects":{"/home/ada/a":{"mcpServers":{"local":{"type":"stdio","command":"node","args":["s.js"],"env":{}}},"history":["{\"mcpServers\":{}}"]},
             "/home/ada/b":{"mcpServers":{}}}}`},
		{"claude-code", ".mcp.json", sampleOf("claude-code", 1), crlf(`{
	"mcpServers": {
		"helped": {"type": "http", "url": "https://h.example.com", "headersHelper": "./get-headers.sh"},
		"junction": {
			"type": "stdio",
			"command": "/opt/junction",
			"args": ["up", "--stdio"]
		}
	}
}`)},
		{"cursor", "mcp.json", sampleOf("cursor", 0), byteOrderMark + `{
  "mcpServers": {
    // for the team
    "junction": {
      "command": "/opt/junction",
      "args": ["up", "--stdio"]
    }, // trailing
  },
}
`},
		{"vscode", "mcp.json", sampleOf("vscode", 0), `{
	"inputs": [{"type": "promptString", "id": "key", "description": "Key", "password": true}],
	"servers": {
		"junction": {
			"type": "stdio",
			"command": "/opt/junction",
			"args": ["up", "--stdio"]
		},
		"pipe": {"type": "http", "url": "unix:///tmp/s.sock"}
	}
}`},
		{"zed", "settings.json", sampleOf("zed", 0), `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "junction": {
      "source": "custom",
      "command": "/opt/junction",
      "args": ["up", "--stdio"]
    },
    "mcp-server-github": { "settings": { "github_personal_access_token": "x" } },
  },
}`},
		{"continue", "config.yaml", sampleOf("continue", 0), `name: Local Assistant   # mine
version: 1.0.0
schema: v1
models:
  - name: Claude
    provider: anthropic
    apiKey: ${{ secrets.KEY }}
mcpServers:
  # a comment
  - name: "junction"
    command: "/opt/junction"
    args: ["up", "--stdio"]
  - uses: owner/block
context:
- provider: code
`},
		{"codex", "config.toml", sampleOf("codex", 0), `# Codex
model = "o3"

[profiles.fast]
model = "mini"
when = 2026-01-02T03:04:05Z

[mcp_servers.junction]
command = "/opt/junction"
args = ["up", "--stdio"]
`},
		{"codex", "config.toml", sampleOf("codex", 1), crlf("[mcp_servers.junction]\ncommand = \"/opt/junction\"\nargs = [\"up\", \"--stdio\"]\n")},
		{"goose", "config.yaml", sampleOf("goose", 0), crlf(`GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  junction:
    name: "junction"
    description: "Junction"
    type: "stdio"
    enabled: true
    cmd: "/opt/junction"
    args: ["up", "--stdio"]
`)},
		{"gemini", "settings.json", `{"mcpServers": {"a": {"command": "x"}}, "mcp": {"excluded": ["a"]}}`, `{"mcpServers": {"junction": {"command": "/opt/junction", "args": ["up", "--stdio"]}}, "mcp": {"excluded": ["a"]}}`},
		{"cherry-studio", "mcp.json", sampleOf("cherry-studio", 0), `{"mcpServers":{"junction": {"type": "stdio", "isActive": true, "command": "/opt/junction", "args": ["up", "--stdio"]},"m":{"name":"@cherry/memory","type":"inMemory","isActive":false}}}`},

		// Files without servers.
		{"cursor", "mcp.json", "", "{\n  \"mcpServers\": {\n    \"junction\": {\n      \"command\": \"/opt/junction\",\n      \"args\": [\"up\", \"--stdio\"]\n    }\n  }\n}\n"},
		{"lmstudio", "mcp.json", byteOrderMark + " \r\n", byteOrderMark + crlf("{\n  \"mcpServers\": {\n    \"junction\": {\n      \"command\": \"/opt/junction\",\n      \"args\": [\"up\", \"--stdio\"]\n    }\n  }\n}\n")},
		{"roo", "mcp.json", "{}", "{\n  \"mcpServers\": {\n    \"junction\": {\n      \"command\": \"/opt/junction\",\n      \"args\": [\"up\", \"--stdio\"]\n    }\n  }\n}"},
		{"zed", "settings.json", "// mine\n{\n    \"theme\": \"x\" // dark\n    // end\n}\n", "// mine\n{\n    \"theme\": \"x\", // dark\n    \"context_servers\": {\n        \"junction\": {\n            \"source\": \"custom\",\n            \"command\": \"/opt/junction\",\n            \"args\": [\"up\", \"--stdio\"]\n        }\n    }\n    // end\n}\n"},
		{"vscode", "mcp.json", "{\n\t\"inputs\": [],\n\t\"servers\": {},\n}", "{\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"junction\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/junction\",\n\t\t\t\"args\": [\"up\", \"--stdio\"]\n\t\t}\n\t},\n}"},
		{"gemini", "settings.json", "{\"theme\":\"x\",\"mcpServers\":null}", "{\"theme\":\"x\",\"mcpServers\":{\n  \"junction\": {\n    \"command\": \"/opt/junction\",\n    \"args\": [\"up\", \"--stdio\"]\n  }\n}}"},
		{"windsurf", "mcp_config.json", "{\n  \"mcpServers\": { /* none */ }\n}\n", "{\n  \"mcpServers\": { /* none */\n    \"junction\": {\n      \"command\": \"/opt/junction\",\n      \"args\": [\"up\", \"--stdio\"]\n    }\n  }\n}\n"},
		{"codex", "config.toml", "", "[mcp_servers.junction]\ncommand = \"/opt/junction\"\nargs = [\"up\", \"--stdio\"]\n"},
		{"codex", "config.toml", "model = 'x'", "model = 'x'\n\n[mcp_servers.junction]\ncommand = \"/opt/junction\"\nargs = [\"up\", \"--stdio\"]\n"},
		{"codex", "config.toml", "mcp_servers = {}\nmodel = 'x'\n", "mcp_servers = {junction = {command = \"/opt/junction\", args = [\"up\", \"--stdio\"]}}\nmodel = 'x'\n"},
		{"codex", "config.toml", "[mcp_servers]\n[other]\na = 1\n", "[mcp_servers]\n[other]\na = 1\n\n[mcp_servers.junction]\ncommand = \"/opt/junction\"\nargs = [\"up\", \"--stdio\"]\n"},
		{"goose", "config.yaml", "", "extensions:\n  junction:\n    name: \"junction\"\n    description: \"Junction\"\n    type: \"stdio\"\n    enabled: true\n    cmd: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\n"},
		{"goose", "config.yaml", "# mine\nGOOSE_MODEL: x", "# mine\nGOOSE_MODEL: x\nextensions:\n  junction:\n    name: \"junction\"\n    description: \"Junction\"\n    type: \"stdio\"\n    enabled: true\n    cmd: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\n"},
		{"goose", "config.yaml", "extensions: {} # none\nA: b\n", "extensions:  # none\n  junction:\n    name: \"junction\"\n    description: \"Junction\"\n    type: \"stdio\"\n    enabled: true\n    cmd: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\nA: b\n"},
		{"continue", "config.yaml", "name: x\nmcpServers:\n", "name: x\nmcpServers:\n  - name: \"junction\"\n    command: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\n"},
		{"continue", "config.yaml", "mcpServers: []\nname: x\n", "mcpServers: \n  - name: \"junction\"\n    command: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\nname: x\n"},
		{"continue", "config.yaml", "", "name: Junction\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: \"junction\"\n    command: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\n"},
		{"goose", "config.yaml", "    A: b\n    extensions: null\n", "    A: b\n    extensions: \n      junction:\n        name: \"junction\"\n        description: \"Junction\"\n        type: \"stdio\"\n        enabled: true\n        cmd: \"/opt/junction\"\n        args: [\"up\", \"--stdio\"]\n"},
	} {
		h, _, _ := LookupHost(test.host)
		d, err := Parse(h, test.path, []byte(test.data))
		if err != nil {
			t.Fatal(err)
		}
		after, change, err := d.Connect(&upStdio, replaceable(d))
		if err != nil || string(after) != test.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s\nof\n%s", test.host, err, after, test.want, test.data)
			continue
		}
		now, err := Parse(h, test.path, after)
		if err != nil {
			t.Errorf("%s: %v", test.host, err)
			continue
		}
		if e := now.changed(change); e == nil || e.Command != "/opt/junction" || !slices.Equal(e.Args, upStdio.Args) || e.Problem != nil {
			t.Errorf("%s: the entry is %+v", test.host, e)
		}
	}
}

func TestEveryHostGetsAnAddressAsItWritesThem(t *testing.T) {
	for _, h := range Hosts() {
		path := "mcp.json"
		switch h.ID {
		case "codex":
			path = "config.toml"
		case "goose", "continue":
			path = "config.yaml"
		}
		d, err := Parse(h, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, change, err := d.Connect(&Endpoint{URL: "http://127.0.0.1:7717/mcp"}, nil)
		if h.ID == "claude-desktop" {
			if err == nil || err.Error() != "Claude Desktop only starts programs; connect it without --url" {
				t.Errorf("got %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", h.ID, err)
			continue
		}
		now, err := Parse(h, path, after)
		if err != nil {
			t.Fatal(err)
		}
		e := now.changed(change)
		if e == nil || e.URL != "http://127.0.0.1:7717/mcp" || e.Command != "" || e.Problem != nil {
			t.Errorf("%s: %+v\n%s", h.ID, e, after)
			continue
		}
		if c, err := e.Carry(""); err != nil || c.URL != e.URL || len(c.Notes)+len(c.Needs) > 0 {
			t.Errorf("%s: %v, %+v", h.ID, err, c)
		}
	}
}

func TestVariablesGoThroughAHostAsItWritesThem(t *testing.T) {
	to := upStdio
	to.Pass = []string{"A", "B"}
	for _, test := range []struct{ host, path, want string }{
		{"claude-code", "a.json", `"env": {"A": "${A}", "B": "${B}"}`},
		{"cursor", "a.json", `"env": {"A": "${env:A}", "B": "${env:B}"}`},
		{"vscode", "a.json", `"env": {"A": "${env:A}", "B": "${env:B}"}`},
		{"gemini", "a.json", `"env": {"A": "$A", "B": "$B"}`},
		{"opencode", "a.json", `"environment": {"A": "{env:A}", "B": "{env:B}"}`},
		{"crush", "a.json", `"env": {"A": "$A", "B": "$B"}`},
		{"codex", "a.toml", `env_vars = ["A", "B"]`},
		{"zed", "a.json", ""},
	} {
		h, _, _ := LookupHost(test.host)
		value, err := h.entry(to)
		if err != nil {
			t.Fatal(err)
		}
		syntax, _ := syntaxOf(test.path)
		last := value.members[len(value.members)-1]
		if got := encodeMember(last.name, encode(last.value, syntax), syntax); last.name == "args" && test.want != "" || last.name != "args" && strings.Trim(got, `"`) != strings.Trim(test.want, `"`) {
			t.Errorf("%s: got %s", test.host, got)
		}
	}
	for _, test := range []struct {
		c    Carried
		want string
	}{
		{Carried{Command: "${B}", Args: []string{"${A:-x}", "${secret:C}", "${workspaceFolder}", "a ${env:D} ${B}"}, Env: []Variable{{"X", "${E}"}}, Headers: []Variable{{"Y", "Bearer ${F}"}}}, "B D E F"},
		{Carried{URL: "https://${H}/"}, "H"},
	} {
		if got := strings.Join(test.c.Variables(), " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestAnotherServerOfJunctionsNameIsNotOverwritten(t *testing.T) {
	h, _, _ := LookupHost("cursor")
	d, err := Parse(h, "mcp.json", []byte(`{"mcpServers": {"junction": {"command": "other"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Connect(&upStdio, nil); err == nil || err.Error() != `mcp.json: it has a server called "junction" already; rename it` {
		t.Errorf("got %v", err)
	}
	if after, _, err := d.Connect(&upStdio, d.Entries); err != nil || string(after) != `{"mcpServers": {"junction": {"command": "/opt/junction", "args": ["up", "--stdio"]}}}` {
		t.Errorf("got %v %s", err, after)
	}
}

// Hosts and users change other parts of the file, or the entry itself, while Junction is connected.
func TestRestoreReplacesJunctionInAChangedFile(t *testing.T) {
	for _, test := range []meanwhile{
		{"another member", "cursor", "mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\" /* c */},\n    \"b\": {\"url\": \"https://b.example\"}\n  }\n}\n",
			"{\n  \"mcp", "{\n  \"z\": 1,\n  \"mcp", "{\n  \"z\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\" /* c */},\n    \"b\": {\"url\": \"https://b.example\"}\n  }\n}\n", ""},
		{"the entry was changed", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}}}`,
			`"--stdio"]`, `"--stdio"], "disabled": true`, `{"mcpServers": {"a": {"command": "x"}}}`, ""},
		{"the entry was removed", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}}}`,
			`"junction": {"command": "/opt/junction", "args": ["up", "--stdio"]}`, ``, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}", ""},
		{"the servers were removed", "cline", "c.json", `{"y": 1, "mcpServers": {"a": {"command": "x"}}}`,
			`, "mcpServers": {"junction": {"command": "/opt/junction", "args": ["up", "--stdio"]}}`, ``, `{"y": 1, "mcpServers": {"a": {"command": "x"}}}`, ""},
		{"a server is there again", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
			`"junction"`, `"a": {"command": "other"}, "junction"`, `{"mcpServers": {"a": {"command": "other"}, "b": {"command": "y"}}}`, "a"},
		{"YAML", "goose", "config.yaml", "extensions:\n  a:\n    cmd: x # d\n    args:\n    - b\n    type: stdio\n  # of c\n  c:\n    type: builtin\n",
			"extensions:", "A: b\nextensions:", "A: b\nextensions:\n  a:\n    cmd: x # d\n    args:\n    - b\n    type: stdio\n  # of c\n  c:\n    type: builtin\n", ""},
		{"YAML with another indentation", "goose", "config.yaml", "extensions:\n  a:\n    cmd: x # d\n",
			"extensions:\n  junction:\n    name: \"junction\"\n    description: \"Junction\"\n    type: \"stdio\"\n    enabled: true\n    cmd: \"/opt/junction\"\n    args: [\"up\", \"--stdio\"]\n",
			"extensions:\n    junction: {cmd: J}\n    new: {cmd: y}\n", "extensions:\n    a:\n      cmd: \"x\"\n    new: {cmd: y}\n", ""},
		{"YAML in a list", "continue", "config.yaml", "mcpServers:\n- command: x # d\n  name: a\n- name: b\n  url: https://b.example\n",
			"mcpServers:", "name: y\nmcpServers:", "name: y\nmcpServers:\n- command: x # d\n  name: a\n- name: b\n  url: https://b.example\n", ""},
		{"TOML", "codex", "config.toml", "z = 1\n\n[mcp_servers.a] # a\ncommand = 'x' # d\n[mcp_servers.a.env]\nK = 'v'\n",
			"z = 1", "z = 2", "z = 2\n\n[mcp_servers.a] # a\ncommand = 'x' # d\n[mcp_servers.a.env]\nK = 'v'\n", ""},
		{"TOML whose keys have dots", "codex", "config.toml", "mcp_servers.a.command = 'x'\nz = 1\n[t]\ny = 1\n",
			"z = 1", "z = 2", "z = 2\n[t]\ny = 1\n\n[mcp_servers.a]\ncommand = \"x\"\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _, _ := LookupHost(test.host)
			before, err := Parse(h, test.path, []byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			data, change, err := before.Connect(&upStdio, replaceable(before))
			if err != nil {
				t.Fatal(err)
			}
			test.putsBack(t, before, data, []Change{change})
		})
	}
}

// connects connects a file with one endpoint, adds an entry of its own, and disconnects it as a
// changed file.
func connects(h Host, path string, data []byte) error {
	before, err := Parse(h, path, data)
	if err != nil {
		return nil // there is nothing to change
	}
	take := slices.DeleteFunc(slices.Clone(before.Entries), func(e *Entry) bool { return e.Scope != "" || e.fault != nil })
	if err := connectsWith(h, before, take); err != nil {
		return err
	}
	return connectsWith(h, before, nil)
}

// connectsWith is like connects, for an entry that replaces some others.
func connectsWith(h Host, before *Document, take []*Entry) error {
	path, data := before.Path, before.Data
	after, change, err := before.Connect(&upStdio, take)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	now, err := Parse(h, path, after)
	if err != nil {
		return fmt.Errorf("it cannot be read then: %w\n%s", err, after)
	}
	if e := now.changed(change); e == nil || e.Command != upStdio.Command || !slices.Equal(e.Args, upStdio.Args) {
		return fmt.Errorf("junction is not in it: %+v\n%s", e, after)
	}
	if len(now.Entries) != len(before.Entries)-len(take)+1 {
		return fmt.Errorf("it has %d entries\n%s", len(now.Entries), after)
	}
	if a, b := rest(before), rest(now); !same(a, b) && len(before.root.members) > 0 { // Continue needs more in a new file
		return fmt.Errorf("something else is other: %s", after)
	}
	for _, word := range [][]byte{[]byte("# at the side"), []byte(byteOrderMark)} {
		if kept, had := bytes.Count(after, word), bytes.Count(data, word); before.syntax != inJSON && len(take) == 0 && kept != had {
			return fmt.Errorf("a comment is lost: %s", after)
		}
	}
	back, left, err := restored(before, now, now, []Change{change})
	if err != nil || len(left) > 0 {
		return fmt.Errorf("%w: it cannot be put back: %v %q\n%s", errRefused, err, left, after)
	}
	again, err := Parse(h, path, back)
	if err != nil || !same(rest(again), rest(before)) && len(before.root.members) > 0 || !same(servers(again), servers(before)) {
		return fmt.Errorf("it is not the same then: %v\n%s\nby way of\n%s", err, back, after)
	}
	return nil
}

// rest returns the content of a file without its servers, and servers returns those by name.
func rest(d *Document) *node {
	by := map[*node]*node{}
	for _, p := range d.places {
		by[p.in] = &node{kind: scalar}
	}
	n := replaced(d.root, by)
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return m.value.kind == scalar && m.value.text == "" })
	return n
}

func servers(d *Document) *node {
	n := &node{kind: object}
	for _, e := range d.Entries {
		n.members = append(n.members, member{name: e.Scope + "/" + e.Name, value: e.full})
	}
	return n
}

func TestGeneratedFilesAreConnectedAndDisconnected(t *testing.T) {
	refused, all := 0, 0
	for made := range generated(2) {
		all++
		switch err := connects(made.host, made.path, []byte(made.data)); {
		case errors.Is(err, errRefused):
			refused++
			t.Logf("round %d of %s: %v\nof\n%s", made.round, made.path, err, made.data)
		case err != nil:
			t.Fatalf("round %d of %s: %v\nof\n%s", made.round, made.path, err, made.data)
		}
		if made.round >= 15 {
			continue // the disk is slow
		}
		path := write(t, filepath.Join(t.TempDir(), made.path), made.data)
		j := Journal{Folder: filepath.Join(t.TempDir(), "taps")}
		if d, err := Read(made.host, path); err != nil {
			t.Fatal(err)
		} else if after, change, err := d.Connect(&upStdio, replaceable(d)); err == nil {
			if _, _, err := j.Apply(d, after, Record{Host: made.host.ID, Kept: true, Connected: true, Changes: []Change{change}}); err != nil {
				t.Fatal(err)
			}
			if done := restoreOne(t, j); !done.Whole || content(t, path) != made.data {
				t.Fatalf("round %d of %s: %+v\n%s", made.round, made.path, done, content(t, path))
			}
		}
	}
	if refused > 0 {
		t.Errorf("%d of %d are refused", refused, all)
	}
}

func FuzzConnectJSON(f *testing.F) { fuzzEditor(f, "cursor", "mcp.json", connects) }
func FuzzConnectYAML(f *testing.F) { fuzzEditor(f, "continue", "config.yaml", connects) }
func FuzzConnectTOML(f *testing.F) { fuzzEditor(f, "codex", "config.toml", connects) }
