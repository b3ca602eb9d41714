package hostconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A sample is a typical file of a user.
type sample struct {
	host, path, data string
	// want is the file with every entry replaced by tapped. problems has the reasons for entries
	// that cannot be replaced.
	want     string
	problems map[string]string
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// tapped returns the program that junction host tap writes in place of an entry.
func tapped(e *Entry) Program {
	if e.URL != "" {
		return Program{Command: "J", Args: []string{"proxy", e.Name}}
	}
	return Program{Command: "J", Args: append([]string{"proxy", e.Name, "--", e.Command}, e.Args...)}
}

var samples = []sample{
	{
		host: "claude-desktop", path: "claude_desktop_config.json",
		data: `{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/ada/Desktop"
      ]
    },
    "git": { "command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "sëcret \u00e9"} },
    "bare":{"command":"C:\\bin\\server.exe"}
  },
  "preferences": {"n": 1.50e3, "x": null}
}
`,
		want: `{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "J",
      "args": ["proxy", "filesystem", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
    },
    "git": { "command": "J", "args": ["proxy", "git", "--", "uvx", "mcp-server-git"], "env": {"TOKEN": "sëcret \u00e9"} },
    "bare":{"args": ["proxy", "bare", "--", "C:\\bin\\server.exe"], "command":"J"}
  },
  "preferences": {"n": 1.50e3, "x": null}
}
`,
	},
	{
		host: "claude-code", path: ".claude.json",
		data: `{"numStartups":3,"mcpServers":{"docs":{"type":"http","url":"https://docs.example.com/mcp","headers":{"Authorization":"Bearer ${TOKEN:-x}"}}},
 "projects":{"/home/ada/a":{"mcpServers":{"local":{"type":"stdio","command":"node","args":["s.js"],"env":{}}},"history":["{\"mcpServers\":{}}"]},
             "/home/ada/b":{"mcpServers":{}}}}`,
		want: `{"numStartups":3,"mcpServers":{"docs":{"type":"stdio","command": "J", "args": ["proxy", "docs"],"env": {"JUNCTION_URL": "https://docs.example.com/mcp", "JUNCTION_HEADER_1": "Authorization: Bearer ${TOKEN:-x}"}}},
 "projects":{"/home/ada/a":{"mcpServers":{"local":{"type":"stdio","command":"J","args":["proxy", "local", "--", "node", "s.js"],"env":{}}},"history":["{\"mcpServers\":{}}"]},
             "/home/ada/b":{"mcpServers":{}}}}`,
	},
	{
		host: "claude-code", path: ".mcp.json",
		data: crlf(`{
	"mcpServers": {
		"helped": {"type": "http", "url": "https://h.example.com", "headersHelper": "./get-headers.sh"},
		"api": {
			"type": "sse",
			"url": "${API_BASE_URL:-https://api.example.com}/mcp"
		}
	}
}`),
		want: crlf(`{
	"mcpServers": {
		"helped": {"type": "http", "url": "https://h.example.com", "headersHelper": "./get-headers.sh"},
		"api": {
			"type": "stdio",
			"command": "J",
			"args": ["proxy", "api"],
			"env": {"JUNCTION_URL": "${API_BASE_URL:-https://api.example.com}/mcp"}
		}
	}
}`),
		problems: map[string]string{"helped": `only the host itself supports "headersHelper"`},
	},
	{
		host: "cursor", path: "mcp.json",
		data: byteOrderMark + `{
  "mcpServers": {
    // for the team
    "remote": {"url": "https://r.example.com/mcp", /* who */ "headers": {"X-Key": "${env:KEY}", "X-B": "b"}, "auth": {"CLIENT_ID": "c"},},
    "old": {"command": "python", "args": ["${workspaceFolder}/s.py"], "envFile": "${workspaceFolder}/.env"}, // trailing
  },
}
`,
		want: byteOrderMark + `{
  "mcpServers": {
    // for the team
    "remote": {"command": "J", "args": ["proxy", "remote"], /* who */ "env": {"JUNCTION_URL": "https://r.example.com/mcp", "JUNCTION_HEADER_1": "X-Key: ${env:KEY}", "JUNCTION_HEADER_2": "X-B: b"}, "auth": {"CLIENT_ID": "c"},},
    "old": {"command": "J", "args": ["proxy", "old", "--", "python", "${workspaceFolder}/s.py"], "envFile": "${workspaceFolder}/.env"}, // trailing
  },
}
`,
	},
	{
		host: "vscode", path: "mcp.json",
		data: `{
	"inputs": [{"type": "promptString", "id": "key", "description": "Key", "password": true}],
	"servers": {
		"Fetch": {
			"type": "stdio",
			// "command": "npx",
			"command": "uvx", // not npx
			"args": ["mcp-server-fetch"], "dev": {"watch": "**/*.py"},
			"env": {"KEY": "${input:key}"},
		},
		"pipe": {"type": "http", "url": "unix:///tmp/s.sock"},
		"one": {
			"command": "one" // alone
		}
	}
}`,
		want: `{
	"inputs": [{"type": "promptString", "id": "key", "description": "Key", "password": true}],
	"servers": {
		"Fetch": {
			"type": "stdio",
			// "command": "npx",
			"command": "J", // not npx
			"args": ["proxy", "Fetch", "--", "uvx", "mcp-server-fetch"], "dev": {"watch": "**/*.py"},
			"env": {"KEY": "${input:key}"},
		},
		"pipe": {"type": "http", "url": "unix:///tmp/s.sock"},
		"one": {
			"args": ["proxy", "one", "--", "one"],
			"command": "J" // alone
		}
	}
}`,
		problems: map[string]string{"pipe": "junction does not support addresses such as unix:…"},
	},
	{
		host: "windsurf", path: "mcp_config.json",
		data: `{"mcpServers":{"figma":{"serverUrl":"https://f.example.com/mcp?key=s3cret","disabled":false},"off":{"command":"x","args":[],"disabled":true,"disabledTools":["a"]}}}`,
		want: `{"mcpServers":{"figma":{"command": "J", "args": ["proxy", "figma"], "env": {"JUNCTION_URL": "https://f.example.com/mcp?key=s3cret"},"disabled":false},"off":{"command":"J","args":["proxy", "off", "--", "x"],"disabled":true,"disabledTools":["a"]}}}`,
	},
	{
		host: "zed", path: "settings.json",
		data: `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "older": { "command": { "path": "node", "args": ["a b"], "env": null }, "settings": {} },
    "newer": { "source": "custom", "command": "node", "args": ["s.js"], "env": {} },
    "mcp-server-github": { "settings": { "github_personal_access_token": "x" } },
  },
}`,
		want: `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "older": { "command": { "path": "J", "args": ["proxy", "older", "--", "node", "a b"], "env": null }, "settings": {} },
    "newer": { "source": "custom", "command": "J", "args": ["proxy", "newer", "--", "node", "s.js"], "env": {} },
    "mcp-server-github": { "settings": { "github_personal_access_token": "x" } },
  },
}`,
		problems: map[string]string{"mcp-server-github": "the server is built into the host: it has neither command nor url, serverUrl, httpUrl, baseUrl"},
	},
	{
		host: "cline", path: "cline_mcp_settings.json",
		data: `{"mcpServers": {"s": {"type": "streamableHttp", "url": "http://127.0.0.1:1/mcp", "autoApprove": ["a"], "timeout": 60, "disabled": false}}}`,
		want: `{"mcpServers": {"s": {"type": "stdio", "command": "J", "args": ["proxy", "s"], "env": {"JUNCTION_URL": "http://127.0.0.1:1/mcp"}, "autoApprove": ["a"], "timeout": 60, "disabled": false}}}`,
	},
	{
		host: "roo", path: "mcp_settings.json",
		data: "{\n  \"mcpServers\":\n  {\n      \"s\" : { \"args\" : [ ] , \"command\" : \"${env:BIN}\" , \"alwaysAllow\" : [ \"x\" ] , \"cwd\" : \"/srv\" }\n  }\n}",
		want: "{\n  \"mcpServers\":\n  {\n      \"s\" : { \"args\" : [\"proxy\", \"s\", \"--\", \"${env:BIN}\"] , \"command\" : \"J\" , \"alwaysAllow\" : [ \"x\" ] , \"cwd\" : \"/srv\" }\n  }\n}",
	},
	{
		host: "continue", path: "config.yaml",
		data: `name: Local Assistant   # mine
version: 1.0.0
schema: v1
models:
  - name: Claude
    provider: anthropic
    apiKey: ${{ secrets.KEY }}
mcpServers:
  # a comment
  - name: SQLite
    command: npx   # how
    args:
      - "-y"
      - mcp-sqlite
      - /path/to/your/database.db  # which
    env:
      TOKEN: ${{ secrets.TOKEN }}
  - command: 'uvx it''s'
    name: Bare
  - name: Remote
    type: streamable-http
    url: https://r.example.com/mcp
    requestOptions:
      timeout: 5
      headers:
        Authorization: Bearer ${{ secrets.R }}
  - uses: owner/block
context:
- provider: code
`,
		want: `name: Local Assistant   # mine
version: 1.0.0
schema: v1
models:
  - name: Claude
    provider: anthropic
    apiKey: ${{ secrets.KEY }}
mcpServers:
  # a comment
  - name: SQLite
    command: "J"   # how
    args:
      ["proxy", "SQLite", "--", "npx", "-y", "mcp-sqlite", "/path/to/your/database.db"]  # which
    env:
      TOKEN: ${{ secrets.TOKEN }}
  - args: ["proxy", "Bare", "--", "uvx it's"]
    command: "J"
    name: Bare
  - name: Remote
    type: "stdio"
    command: "J"
    args: ["proxy", "Remote"]
    env: {JUNCTION_URL: "https://r.example.com/mcp", JUNCTION_HEADER_1: "Authorization: Bearer ${{ secrets.R }}"}
  - uses: owner/block
context:
- provider: code
`,
	},
	{
		host: "codex", path: "config.toml",
		data: `# Codex
model = "o3"

[mcp_servers.docs] # docs
command = "npx" # the package
args = [
  "-y",  # yes
  "docs-server",
]
env = { "API_KEY" = "value" }
startup_timeout_sec = 20

[mcp_servers."with space"]
  command = 'C:\bin\s.exe'

[mcp_servers."with space".env]
A = """
two lines"""

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "us-east-1" }
enabled_tools = ["a"]

[mcp_servers.tables]
url = "https://t.example.com"
[mcp_servers.tables.http_headers]
X-A = "1"   # one
X-B = "2"

[profiles.fast]
model = "mini"
when = 2026-01-02T03:04:05Z
`,
		want: `# Codex
model = "o3"

[mcp_servers.docs] # docs
command = "J" # the package
args = ["proxy", "docs", "--", "npx", "-y", "docs-server"]
env = { "API_KEY" = "value" }
startup_timeout_sec = 20

[mcp_servers."with space"]
  args = ["proxy", "with space", "--", "C:\\bin\\s.exe"]
  command = "J"

[mcp_servers."with space".env]
A = """
two lines"""

[mcp_servers.figma]
command = "J"
args = ["proxy", "figma"]
env_vars = ["FIGMA_TOKEN"]
env = {JUNCTION_URL = "https://mcp.figma.com/mcp", JUNCTION_HEADER_1 = "Authorization: Bearer ", JUNCTION_HEADER_1_FROM = "FIGMA_TOKEN", JUNCTION_HEADER_2 = "X-Region: us-east-1"}
enabled_tools = ["a"]

[mcp_servers.tables]
command = "J"
args = ["proxy", "tables"]
[mcp_servers.tables.env]
JUNCTION_URL = "https://t.example.com"
JUNCTION_HEADER_1 = "X-A: 1"
JUNCTION_HEADER_2 = "X-B: 2"

[profiles.fast]
model = "mini"
when = 2026-01-02T03:04:05Z
`,
	},
	{
		host: "codex", path: "config.toml",
		data: crlf("mcp_servers.dotted.command = \"a\"\nmcp_servers . dotted . args = ['b']\nmcp_servers.inline = { command = \"c\", enabled = true }\n"),
		want: crlf("mcp_servers.dotted.command = \"J\"\nmcp_servers . dotted . args = [\"proxy\", \"dotted\", \"--\", \"a\", \"b\"]\nmcp_servers.inline = { args = [\"proxy\", \"inline\", \"--\", \"c\"], command = \"J\", enabled = true }\n"),
	},
	{
		host: "gemini", path: "settings.json",
		data: `{
  "theme": "GitHub",
  "mcpServers": {
    "http": {"httpUrl": "https://h.example.com/mcp", "headers": {"Authorization": "Bearer $TOKEN"}, "trust": true},
    "sse": {"url": "https://s.example.com/sse", "timeout": 5000},
    "both": {"url": "https://s.example.com/sse", "command": "x"},
    "cmd": {"command": "node", "cwd": "./server", "args": ["--port", "$PORT"], "includeTools": ["a"]}
  }
}
`,
		want: `{
  "theme": "GitHub",
  "mcpServers": {
    "http": {"command": "J", "args": ["proxy", "http"], "env": {"JUNCTION_URL": "https://h.example.com/mcp", "JUNCTION_HEADER_1": "Authorization: Bearer $TOKEN"}, "trust": true},
    "sse": {"command": "J", "args": ["proxy", "sse"], "env": {"JUNCTION_URL": "https://s.example.com/sse"}, "timeout": 5000},
    "both": {"url": "https://s.example.com/sse", "command": "x"},
    "cmd": {"command": "J", "cwd": "./server", "args": ["proxy", "cmd", "--", "node", "--port", "$PORT"], "includeTools": ["a"]}
  }
}
`,
		problems: map[string]string{"both": "it has several of url, command; keep only one"},
	},
	{
		host: "goose", path: "config.yaml",
		data: crlf(`GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  github:
    args:
    - -y
    - '@modelcontextprotocol/server-github'
    - 8080
    available_tools: []
    cmd: npx
    description: |
      Several
      lines: here
    enabled: true
    env_keys:
    - GITHUB_TOKEN
    envs: {}
    name: GitHub
    timeout: 300
    type: stdio
  remote:
    type: streamable_http
    uri: "https://r.example.com/mcp"
    headers:
      X-Key: abc
    envs: {A: b}
    env_keys: []
  substituted:
    type: streamable_http
    uri: https://r.example.com/mcp
    headers: {X-Key: '${KEY}'}
`),
		want: crlf(`GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  github:
    args:
      ["proxy", "github", "--", "npx", "-y", "@modelcontextprotocol/server-github", "8080"]
    available_tools: []
    cmd: "J"
    description: |
      Several
      lines: here
    enabled: true
    env_keys:
    - GITHUB_TOKEN
    envs: {}
    name: GitHub
    timeout: 300
    type: stdio
  remote:
    type: "stdio"
    cmd: "J"
    args: ["proxy", "remote"]
    envs: {A: "b", JUNCTION_URL: "https://r.example.com/mcp", JUNCTION_HEADER_1: "X-Key: abc"}
    env_keys: []
  substituted:
    type: streamable_http
    uri: https://r.example.com/mcp
    headers: {X-Key: '${KEY}'}
`),
		problems: map[string]string{
			"developer":   "the server is built into the host: it has neither cmd nor uri",
			"substituted": "only the host itself can replace the variables in its headers",
		},
	},
	{
		host: "lmstudio", path: "mcp.json",
		data: "{\n  \"mcpServers\": {\n    \"hf\": {\n      \"url\": \"https://hf.co/mcp\",\n      \"headers\": {\n        \"Authorization\": \"Bearer hf_x\"\n      }\n    }\n  }\n}",
		want: "{\n  \"mcpServers\": {\n    \"hf\": {\n      \"command\": \"J\",\n      \"args\": [\"proxy\", \"hf\"],\n      \"env\": {\"JUNCTION_URL\": \"https://hf.co/mcp\", \"JUNCTION_HEADER_1\": \"Authorization: Bearer hf_x\"}\n    }\n  }\n}",
	},
	{
		host: "cherry-studio", path: "mcp.json",
		data:     `{"mcpServers":{"k3J":{"name":"web","type":"streamableHttp","baseUrl":"http://localhost:9/mcp","isActive":true,"command":"","args":[]},"m":{"name":"@cherry/memory","type":"inMemory","isActive":false}}}`,
		want:     `{"mcpServers":{"k3J":{"name":"web","type":"stdio","isActive":true,"args": ["proxy", "k3J"], "env": {"JUNCTION_URL": "http://localhost:9/mcp"}, "command":"J"},"m":{"name":"@cherry/memory","type":"inMemory","isActive":false}}}`,
		problems: map[string]string{"m": "the server is built into the host: it has neither command nor url, serverUrl, httpUrl, baseUrl"},
	},
	{
		host: "cline", path: "cline_mcp_settings.json",
		data: `{"mcpServers": {"loc": {"transport": {"type": "stdio", "command": "node", "args": ["x.js"]}, "disabled": false},
  "rem": {"transport": {"type": "streamableHttp", "url": "https://r.example.com/mcp", "headers": {"X-K": "v"}}}}}
`,
		want: `{"mcpServers": {"loc": {"transport": {"type": "stdio", "command": "J", "args": ["proxy", "loc", "--", "node", "x.js"]}, "disabled": false},
  "rem": {"transport": {"type": "stdio", "command": "J", "args": ["proxy", "rem"], "env": {"JUNCTION_URL": "https://r.example.com/mcp", "JUNCTION_HEADER_1": "X-K: v"}}}}}
`,
	},
	{
		host: "qwen", path: "settings.json",
		data: `{"mcpServers": {"a": {"command": "node", "args": ["x.js"], "timeout": 5000, "trust": true}, "b": {"httpUrl": "https://r.example.com/mcp"}}}`,
		want: `{"mcpServers": {"a": {"command": "J", "args": ["proxy", "a", "--", "node", "x.js"], "timeout": 5000, "trust": true}, "b": {"command": "J", "args": ["proxy", "b"], "env": {"JUNCTION_URL": "https://r.example.com/mcp"}}}}`,
	},
	{
		host: "copilot", path: "mcp-config.json",
		data: `{"mcpServers": {"a": {"type": "local", "command": "node", "args": ["x.js"], "tools": ["*"]}, "b": {"type": "http", "url": "https://r.example.com/mcp", "headers": {"A": "b"}, "tools": ["*"]}}}`,
		want: `{"mcpServers": {"a": {"type": "local", "command": "J", "args": ["proxy", "a", "--", "node", "x.js"], "tools": ["*"]}, "b": {"type": "local", "command": "J", "args": ["proxy", "b"], "env": {"JUNCTION_URL": "https://r.example.com/mcp", "JUNCTION_HEADER_1": "A: b"}, "tools": ["*"]}}}`,
	},
	{
		host: "opencode", path: "opencode.jsonc",
		data: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    // mine
    "a": {"type": "local", "command": ["node", "x.js"], "environment": {"A": "b"}, "enabled": true},
    "b": {"type": "remote", "url": "https://r.example.com/mcp"},
  },
}
`,
		want: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    // mine
    "a": {"type": "local", "command": ["J", "proxy", "a", "--", "node", "x.js"], "environment": {"A": "b"}, "enabled": true},
    "b": {"type": "local", "command": ["J", "proxy", "b"], "environment": {"JUNCTION_URL": "https://r.example.com/mcp"}},
  },
}
`,
	},
	{
		host: "amp", path: "settings.json",
		data: `{"amp.notifications.enabled": true, "amp.mcpServers": {"a": {"command": "node", "args": ["x.js"]}}}`,
		want: `{"amp.notifications.enabled": true, "amp.mcpServers": {"a": {"command": "J", "args": ["proxy", "a", "--", "node", "x.js"]}}}`,
	},
	{
		host: "crush", path: "crush.json",
		data: `{"mcp": {"a": {"type": "stdio", "command": "node", "args": ["x.js"], "timeout": 120}, "b": {"type": "sse", "url": "https://r.example.com/sse"}}}`,
		want: `{"mcp": {"a": {"type": "stdio", "command": "J", "args": ["proxy", "a", "--", "node", "x.js"], "timeout": 120}, "b": {"type": "stdio", "command": "J", "args": ["proxy", "b"], "env": {"JUNCTION_URL": "https://r.example.com/sse"}}}}`,
	},
	{
		host: "jetbrains", path: "mcp.json",
		data: "\t{\"mcpServers\": {\"s\": {\"command\": \"npx\",\n\t\"args\": [\"-y\"\n\t, \"x\"]}}}\n\n",
		want: "\t{\"mcpServers\": {\"s\": {\"command\": \"J\",\n\t\"args\": [\"proxy\", \"s\", \"--\", \"npx\", \"-y\", \"x\"]}}}\n\n",
	},
}

// sampleOf returns the data of sample n of a host, counted from 0.
func sampleOf(host string, n int) string {
	for _, s := range samples {
		if s.host != host {
			continue
		}
		if n == 0 {
			return s.data
		}
		n--
	}
	panic("no such sample of " + host)
}

// read reads a sample and replaces all entries that can be.
func (s *sample) read(t *testing.T) (d *Document, after []byte, changes []Change) {
	t.Helper()
	h, _, _ := LookupHost(s.host)
	d, err := Parse(h, s.path, []byte(s.data))
	if err != nil {
		t.Fatal(err)
	}
	by := map[*Entry]Program{}
	for _, e := range d.Entries {
		if e.Problem == nil {
			by[e] = tapped(e)
		}
	}
	if after, changes, err = d.Replace(by); err != nil {
		t.Fatal(err)
	}
	return d, after, changes
}

func TestEveryFormatIsChangedInNothingButItsEntries(t *testing.T) {
	hosts := map[string]bool{}
	for i, s := range samples {
		t.Run(fmt.Sprint(i, " ", s.host), func(t *testing.T) {
			d, after, _ := s.read(t)
			if string(after) != s.want {
				t.Errorf("got\n%s\nwant\n%s", after, s.want)
			}
			problems := map[string]string{}
			for _, e := range d.Entries {
				if e.Problem != nil {
					problems[e.Name] = e.Problem.Error()
				}
			}
			if !maps.Equal(problems, s.problems) {
				t.Errorf("problems are %q, want %q", problems, s.problems)
			}
		})
		hosts[s.host] = true
	}
	for _, h := range Hosts() {
		if !hosts[h.ID] {
			t.Errorf("%s has no sample", h.Name)
		}
	}
}

// A meanwhile is a change to a file with changed entries, and the expected file after these are
// restored.
type meanwhile struct{ name, host, path, before, old, new, want, left string }

func (m meanwhile) putsBack(t *testing.T, before *Document, data []byte, changes []Change) {
	t.Helper()
	changed := strings.Replace(string(data), m.old, m.new, 1)
	if changed == string(data) {
		t.Fatalf("%q is not in %s", m.old, data)
	}
	after, err := Parse(before.host, m.path, data)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Parse(before.host, m.path, []byte(changed))
	if err != nil {
		t.Fatal(err)
	}
	got, left, err := restored(before, after, now, changes)
	if err != nil || string(got) != m.want || strings.Join(left, " ") != m.left {
		t.Errorf("got %v %q\n%s\nwant %q\n%s\nfrom\n%s", err, left, got, m.left, m.want, changed)
	}
}

// Hosts rewrite their files in a style of their own, and users change other parts of them.
func TestRestoreKeepsForeignChanges(t *testing.T) {
	for _, test := range []meanwhile{
		{"another entry was added", "cursor", "mcp.json", `{"mcpServers": {"a": {"command": "x" /* c */, "args": ["1"]}}}`,
			`"]}}}`, `"]}, "b": {"command": "y"}}}`, `{"mcpServers": {"a": {"command": "x" /* c */, "args": ["1"]}, "b": {"command": "y"}}}`, ""},
		{"a member of the entry was added", "cline", "c.json", "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\"\n  }\n}}",
			`"J"`, `"J", "disabled": true`, "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\", \"disabled\": true\n  }\n}}", ""},
		{"the entry was changed", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
			`"x"]`, `"z"]`, `{"mcpServers": {"a": {"args": ["proxy", "a", "--", "z"], "command": "J"}, "b": {"command": "y"}}}`, "a"},
		{"the entry was removed", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
			`"a": {"args": ["proxy", "a", "--", "x"], "command": "J"}, `, ``, `{"mcpServers": {"b": {"command": "y"}}}`, "a"},
		{"the entry got another name, under which it is still tapped", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
			`"a":`, `"calculator":`, `{"mcpServers": {"calculator": {"args": ["proxy", "a", "--", "x"], "command": "J"}, "b": {"command": "y"}}}`, "a"},
		{"the entry was put back by hand", "cline", "c.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
			`{"args": ["proxy", "a", "--", "x"], "command": "J"}`, `{"command":"x"}`, `{"mcpServers": {"a": {"command":"x"}, "b": {"command": "y"}}}`, ""},
		{"an address gets its headers back", "lmstudio", "mcp.json", `{"mcpServers": {"a": {"url": "https://x.example", "headers": {"K": "v"}}}}`,
			`{"mcp`, `{"other": 1, "mcp`, `{"other": 1, "mcpServers": {"a": {"url": "https://x.example", "headers": {"K": "v"}}}}`, ""},
		{"an address without headers", "cursor", "mcp.json", `{"mcpServers": {"a": {"x": 1, "url": "https://x.example"}}}`,
			`{"mcp`, `{"other": 1, "mcp`, `{"other": 1, "mcpServers": {"a": {"x": 1, "url": "https://x.example"}}}`, ""},
		{"YAML", "goose", "config.yaml", "extensions:\n  a:\n    # c\n    cmd: x # d\n    args:\n    - b\n    type: stdio\n",
			"type: stdio", "type: stdio\n    enabled: false", "extensions:\n  a:\n    # c\n    cmd: x # d\n    args:\n      [\"b\"]\n    type: stdio\n    enabled: false\n", ""},
		{"YAML without arguments", "continue", "config.yaml", "mcpServers:\n- command: x # d\n  name: a\n",
			"mcpServers:", "a: b\nmcpServers:", "a: b\nmcpServers:\n- command: x # d\n  name: a\n", ""},
		{"TOML", "codex", "config.toml", "[mcp_servers.a]\ncommand = 'x' # d\n[mcp_servers.b]\nurl = 'https://x.example' # e\nhttp_headers.A = 'b'\n",
			"", "", "", "unreadable"},
		{"TOML with tables", "codex", "config.toml", "[mcp_servers.a]\ncommand = 'x' # d\n[mcp_servers.b]\nurl = 'https://x.example' # e\n[mcp_servers.b.http_headers]\nA = 'b'\n",
			"[mcp_servers.a]", "z = 1\n[mcp_servers.a]", "z = 1\n[mcp_servers.a]\ncommand = 'x' # d\n[mcp_servers.b]\nurl = 'https://x.example' # e\n[mcp_servers.b.http_headers]\nA = \"b\"\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.left == "unreadable" {
				h, _, _ := LookupHost(test.host)
				d, err := Parse(h, test.path, []byte(test.before))
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = d.Replace(map[*Entry]Program{d.Entries[1]: tapped(d.Entries[1])})
				if err == nil || !strings.Contains(err.Error(), `junction cannot change "http_headers" as it is written`) {
					t.Errorf("got %v", err)
				}
				return
			}
			s := sample{host: test.host, path: test.path, data: test.before}
			before, data, changes := s.read(t)
			test.putsBack(t, before, data, changes)
		})
	}
}

// A misspelled folder would never be searched, and a file with an unknown syntax would be ignored
// silently.
func TestTheFilesOfAllHostsCanBeFound(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		home := t.TempDir()
		o := Options{HomeDir: home, GOOS: goos, Getenv: func(string) string { return "" }}
		for _, h := range Hosts() {
			if (len(h.user)+len(h.project) == 0) != (h.Nowhere != "") {
				t.Errorf("%s: expected files, or a reason why there are none", h.ID)
			}
			for _, name := range append(slices.Clone(h.user), h.project...) {
				if _, ok := syntaxOf(strings.TrimSuffix(name, "*")); !ok && !strings.HasSuffix(name, "/*") {
					t.Errorf("%s: %s has a syntax that is not known", h.ID, name)
				}
			}
			for _, name := range h.user {
				where, _, ok := strings.Cut(strings.TrimPrefix(name, "<"), ">")
				isVariable := where == strings.ToUpper(where)
				if folder := userFolder(where, o); !ok || isVariable != (folder == "") || !isVariable && !strings.HasPrefix(folder, home) {
					t.Errorf("%s on %s: %s begins with no known folder", h.ID, goos, name)
				}
			}
		}
	}
}
