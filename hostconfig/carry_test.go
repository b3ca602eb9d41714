package hostconfig

import (
	"fmt"
	"strings"
	"testing"
)

// said returns the result of Carry on one line.
func said(c *Carried, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	line := c.Name + " " + encode(c.entry(), inJSON)
	for _, more := range []struct {
		name  string
		words []string
	}{{"needs", c.Needs}, {"left", c.Left}, {"notes", c.Notes}} {
		if len(more.words) > 0 {
			line += fmt.Sprintf(" %s: %s", more.name, strings.Join(more.words, ", "))
		}
	}
	return line
}

func TestVariablesThatCodexPassesOn(t *testing.T) {
	h, _, _ := LookupHost("codex")
	d, err := Parse(h, "config.toml", []byte("[mcp_servers.a]\ncommand = 'x'\nargs = ['${Z}']\nenv_vars = ['V', { name = 'W', source = 'local' }]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Entries[0].Carry("")
	if err != nil || strings.Join(c.Variables(), " ") != "V W Z" || len(c.Left) > 0 {
		t.Errorf("got %v, %+v", err, c)
	}
}

func TestEntriesOfEveryHostAreCarriedByItsOwnRules(t *testing.T) {
	for _, test := range []struct{ host, path, project, data, want string }{
		{"claude-desktop", "claude_desktop_config.json", "", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "s", "$HOME"], "env": {"K": "${TOKEN}", "N": 1}}}}`,
			`a {"command": "npx", "args": ["-y", "s", "$HOME"], "env": {"K": "${TOKEN}", "N": "1"}} notes: env.K: ${TOKEN} is plain text for the host, but a variable for junction`},
		{"claude-code", ".claude.json", "", `{"mcpServers": {"a": {"type": "http", "url": "https://${H:-x.example}/mcp", "headers": {"A": "Bearer ${T}", "B": "${env:T}"}, "oauth": {"clientId": "c", "callbackPort": 1}}}}`,
			`a {"type": "http", "url": "https://${H:-x.example}/mcp", "headers": {"A": "Bearer ${T}", "B": "${env:T}"}, "oauth": {"clientId": "c"}} left: oauth.callbackPort notes: headers.B: ${env:T} is plain text for the host, but a variable for junction`},
		{"claude-code", ".claude.json", "", `{"projects": {"/p": {"mcpServers": {"a": {"type": "stdio", "command": "./s", "args": [], "env": {}, "timeout": 1500}}}}}`,
			`a {"command": "/p/s", "cwd": "/p", "timeout": "1.5s"}`},
		{"claude-code", ".mcp.json", "/p", `{"mcpServers": {"a": {"type": "http", "url": "https://x.example", "headersHelper": "h"}}}`,
			`error: only the host itself supports "headersHelper"`},
		{"claude-code", ".mcp.json", "/p", `{"mcpServers": {"a": {"type": "sse", "url": "${U}/sse"}}}`,
			`a {"type": "sse", "url": "${U}/sse"}`},
		{"cursor", "mcp.json", "", `{"mcpServers": {"a": {"command": "${env:BIN}", "args": ["${workspaceFolder}/s", "${userHome}", "${T}"], "envFile": ".env"}}}`,
			`a {"command": "${env:BIN}", "args": ["${workspaceFolder}/s", "${userHome}", "${T}"], "envFile": ".env"} notes: args[0]: ${workspaceFolder} is the folder in which junction runs, args[2]: ${T} is plain text for the host, but a variable for junction`},
		{"cursor", "mcp.json", "/p", `{"mcpServers": {"a": {"command": "node", "args": ["${workspaceFolder}/s"], "envFile": ".env", "cwd": "sub"}}}`,
			`a {"command": "node", "args": ["/p/s"], "cwd": "/p/sub", "envFile": "/p/.env"}`},
		{"cursor", "mcp.json", "", `{"mcpServers": {"a": {"url": "https://x.example", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["r"]}}}}`,
			`a {"url": "https://x.example", "oauth": {"clientId": "c", "clientSecret": "${env:S}"}} left: auth.scopes`},
		{"vscode", "mcp.json", "", `{"servers": {"a": {"type": "http", "url": "https://x.example", "headers": {"Authorization": "Bearer ${input:my key}"}, "sandboxEnabled": true, "dev": {}}}}`,
			`a {"url": "https://x.example", "headers": {"Authorization": "Bearer ${secret:my_key}"}} needs: my_key left: sandboxEnabled`},
		{"vscode", "mcp.json", "", `{"servers": {"a": {"command": "${command:python.interpreterPath}"}}}`,
			`error: command: only the host itself can replace ${command:python.interpreterPath}`},
		{"vscode", "mcp.json", "", `{"servers": {"a": {"type": "http", "url": "unix:///s.sock"}}}`,
			`error: junction does not support addresses such as unix:…`},
		{"vscode", "mcp.json", "", `{"servers": {"a": {"command": "x", "env": {"GONE": null, "K": "${env:K}"}}}}`,
			`a {"command": "x", "env": {"K": "${env:K}"}} left: env.GONE`},
		{"windsurf", "mcp_config.json", "", `{"mcpServers": {"a": {"serverUrl": "https://x.example", "headers": {"K": "${file:/run/k}"}, "disabled": true, "disabledTools": ["t"]}}}`,
			`a {"url": "https://x.example", "headers": {"K": "${file:/run/k}"}, "disabled": true} left: disabledTools`},
		{"zed", "settings.json", "", `{"context_servers": {"a": {"command": {"path": "node", "args": ["s"], "env": {"K": "v"}}, "settings": {}}}}`,
			`a {"command": "node", "args": ["s"], "env": {"K": "v"}}`},
		{"zed", "settings.json", "", `{"context_servers": {"a": {"source": "custom", "enabled": false, "command": "node", "args": ["s"], "env": null, "timeout": 5}}}`,
			`a {"command": "node", "args": ["s"], "disabled": true, "timeout": "5s"}`},
		{"cline", "cline_mcp_settings.json", "", `{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://x.example", "autoApprove": ["t"], "timeout": 60, "disabled": false}}}`,
			`a {"type": "http", "url": "https://x.example", "timeout": "1m0s"} left: autoApprove`},
		{"roo", "mcp_settings.json", "", `{"mcpServers": {"a": {"command": "x", "cwd": "../s", "alwaysAllow": [], "watchPaths": ["d"]}}}`,
			`a {"command": "x", "cwd": "../s"} left: watchPaths notes: cwd is relative to the host's folder; write the absolute path`},
		{"continue", "config.yaml", "", "mcpServers:\n- name: A b\n  command: x\n  env:\n    K: ${{ secrets.K }}\n    L: ${{inputs.L}}\n  faviconUrl: f\n",
			`A b {"command": "x", "env": {"K": "${secret:K}", "L": "${secret:L}"}} needs: K, L left: faviconUrl`},
		{"continue", "config.yaml", "", "mcpServers:\n- name: a\n  type: streamable-http\n  url: https://x.example\n  requestOptions:\n    timeout: 5\n    headers:\n      A: ${{ env.X }}\n",
			`error: headers.A: only the host itself can replace ${{ env.X }}`},
		{"codex", "config.toml", "", "[mcp_servers.a]\nurl = 'https://x.example'\nbearer_token_env_var = 'T'\nstartup_timeout_sec = 20\ntool_timeout_sec = 1.5\nenabled_tools = ['t']\n[mcp_servers.a.http_headers]\nA = '${T}'\n[mcp_servers.a.env_http_headers]\nB = 'V'\n",
			`a {"url": "https://x.example", "headers": {"A": "${T}", "Authorization": "Bearer ${T}", "B": "${V}"}, "timeout": "1.5s", "startTimeout": "20s"} left: enabled_tools notes: headers.A: ${T} is plain text for the host, but a variable for junction`},
		{"codex", "config.toml", "", "[mcp_servers.a]\ncommand = 'x'\nargs = ['y']\nenv_vars = ['V']\nenabled = false\ncwd = '/s'\n[mcp_servers.a.env]\nK = 'v'\n",
			`a {"command": "x", "args": ["y"], "env": {"K": "v"}, "cwd": "/s", "disabled": true}`},
		{"gemini", "settings.json", "", `{"mcpServers": {"a": {"httpUrl": "https://x.example", "headers": {"A": "Bearer $T", "B": "${U}x"}, "timeout": 5000, "trust": true}}}`,
			`a {"type": "http", "url": "https://x.example", "headers": {"A": "Bearer ${T}", "B": "${U}x"}, "timeout": "5s"} left: trust`},
		{"gemini", "settings.json", "", `{"mcpServers": {"a": {"url": "https://x.example/sse", "includeTools": ["t"]}}, "mcp": {"excluded": ["a"]}}`,
			`a {"type": "sse", "url": "https://x.example/sse", "disabled": true} left: includeTools`},
		{"gemini", "settings.json", "", `{"mcpServers": {"a": {"url": "https://x.example/sse", "authProviderType": "google_credentials"}}}`,
			`error: only the host itself supports "authProviderType"`},
		{"goose", "config.yaml", "", "extensions:\n  a:\n    type: stdio\n    name: A\n    cmd: x\n    args: [1, y]\n    envs: {K: v}\n    env_keys: [T]\n    timeout: 300\n    enabled: false\n    available_tools: []\n",
			`a {"command": "x", "args": ["1", "y"], "env": {"K": "v", "T": "${secret:T}"}, "disabled": true, "timeout": "5m0s"} needs: T`},
		{"goose", "config.yaml", "", "extensions:\n  a:\n    type: streamable_http\n    uri: https://x.example\n    headers: {A: 'Bearer ${K}', B: '${T}'}\n    envs: {K: v}\n    env_keys: [T]\n",
			`a {"type": "http", "url": "https://x.example", "headers": {"A": "Bearer v", "B": "${secret:T}"}} needs: T`},
		{"goose", "config.yaml", "", "extensions:\n  developer:\n    type: builtin\n    enabled: true\n",
			`error: the server is built into the host: it has neither cmd nor uri`},
		{"lmstudio", "mcp.json", "", `{"mcpServers": {"a": {"url": "https://x.example", "headers": {"A": "Bearer hf_x"}, "timeout": 30000}}}`,
			`a {"url": "https://x.example", "headers": {"A": "Bearer hf_x"}, "timeout": "30s"}`},
		{"cherry-studio", "mcp.json", "", `{"mcpServers": {"k3J": {"name": "web", "type": "streamableHttp", "baseUrl": "https://x.example", "isActive": false, "command": "", "args": [], "longRunning": true}}}`,
			`web {"type": "http", "url": "https://x.example", "disabled": true} left: longRunning`},
		{"jetbrains", "mcp.json", "", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${input:k}"}}}}`,
			`a {"command": "x", "env": {"K": "${secret:k}"}} needs: k`},
		{"cline", "cline_mcp_settings.json", "", `{"mcpServers": {"a": {"transport": {"type": "streamableHttp", "url": "https://x.example", "headers": {"K": "v"}}, "timeout": 60}}}`,
			`a {"type": "http", "url": "https://x.example", "headers": {"K": "v"}, "timeout": "1m0s"}`},
		{"cline", "cline_mcp_settings.json", "", `{"mcpServers": {"a": {"transport": {"type": "stdio", "command": "x", "args": ["y"], "env": {"K": "v"}}, "disabled": true}}}`,
			`a {"command": "x", "args": ["y"], "env": {"K": "v"}, "disabled": true}`},
		{"qwen", "settings.json", "", `{"mcpServers": {"a": {"url": "https://x.example/sse", "headers": {"A": "$T"}, "timeout": 5000, "includeTools": ["t"]}}, "mcp": {"allowed": ["b"]}}`,
			`a {"type": "sse", "url": "https://x.example/sse", "headers": {"A": "${T}"}, "disabled": true, "timeout": "5s"} left: includeTools`},
		{"copilot", "mcp-config.json", "", `{"mcpServers": {"a": {"type": "local", "command": "x", "args": [], "env": {"K": "${T}"}, "tools": ["*"], "timeout": 5000}}}`,
			`a {"command": "x", "env": {"K": "${T}"}, "timeout": "5s"}`},
		{"copilot", "mcp-config.json", "", `{"mcpServers": {"a": {"type": "sse", "url": "https://x.example/sse", "tools": ["one"]}}}`,
			`a {"type": "sse", "url": "https://x.example/sse"} left: tools`},
		{"opencode", "opencode.json", "", `{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "s"], "environment": {"K": "{env:T}", "L": "{file:/run/l}"}, "enabled": false, "timeout": 5000}}}`,
			`a {"command": "npx", "args": ["-y", "s"], "env": {"K": "${env:T}", "L": "${file:/run/l}"}, "disabled": true, "timeout": "5s"}`},
		{"opencode", "opencode.json", "", `{"mcp": {"a": {"type": "remote", "url": "https://x.example", "headers": {"A": "Bearer {env:T}"}, "oauth": {"clientId": "c", "scope": "r"}}}}`,
			`a {"url": "https://x.example", "headers": {"A": "Bearer ${env:T}"}, "oauth": {"clientId": "c"}} left: oauth.scope`},
		{"opencode", "opencode.json", "", `{"mcp": {"a": {"type": "local", "command": ["x", "{file:./l}"]}}}`,
			`error: args[0]: only the host itself can replace {file:./l}, which is relative to its file`},
		{"opencode", "opencode.json", "", `{"mcp": {"a": {"type": "local", "command": []}}}`,
			`error: the server is built into the host: it has neither command nor url`},
		{"amp", "settings.json", "", `{"amp.mcpServers": {"a": {"url": "https://x.example", "headers": {"A": "Bearer ${T}"}, "includeTools": ["t"]}}}`,
			`a {"url": "https://x.example", "headers": {"A": "Bearer ${T}"}} left: includeTools`},
		{"crush", "crush.json", "", `{"mcp": {"a": {"type": "stdio", "command": "x", "env": {"K": "$T", "L": "${U:-v}"}, "timeout": 120, "disabled_tools": ["t"]}}}`,
			`a {"command": "x", "env": {"K": "${T}", "L": "${U:-v}"}, "timeout": "2m0s"} left: disabled_tools`},
		{"crush", "crush.json", "", `{"mcp": {"a": {"type": "http", "url": "https://x.example", "headers": {"A": "Bearer $(pass show x)"}}}}`,
			`error: headers.A: only the host itself can replace $(pass show x)`},
		{"cursor", "mcp.json", "", `{"mcpServers": {"a": {"command": "x", "url": "https://x.example"}}}`,
			`error: it has several of url, command; keep only one`},
		{"cursor", "mcp.json", "", `{"mcpServers": {"a": {"command": "x", "env": {"K": {}}}}}`,
			`error: env.K is not a text`},
		{"cursor", "mcp.json", "", `{"mcpServers": {"a": {"command": "x", "timeout": 1e9, "startup_timeout_ms": "x"}}}`,
			`a {"command": "x"} left: timeout, startup_timeout_ms`},
		{"", "mcp.json", "", `{"mcpServers": {"a": {"command": "x", "args": ["${secret:k} ${T}"], "timeout": "90s"}}}`,
			`a {"command": "x", "args": ["${secret:k} ${T}"], "timeout": "1m30s"}`},
	} {
		h, _, _ := LookupHost(test.host)
		d, err := Parse(h, test.path, []byte(test.data))
		if err != nil {
			t.Fatal(err)
		}
		if got := said(d.Entries[0].Carry(test.project)); got != test.want {
			t.Errorf("%s of %s:\ngot  %s\nwant %s", test.data, test.host, got, test.want)
		}
	}
}

func TestTheSameServerIsKnownWhereASecretOfItIsKept(t *testing.T) {
	own := &Carried{Name: "a", Command: "npx", Args: []string{"s", "--key=${secret:k}"}, Env: []Variable{{"B", "${secret:b}"}, {"A", "1"}}}
	for _, test := range []struct {
		other Carried
		want  bool
	}{
		{Carried{Command: "npx", Args: []string{"s", "--key=x"}, Env: []Variable{{"A", "1"}, {"B", "y"}}}, true},
		{Carried{Command: "npx", Args: []string{"s", "--other=x"}, Env: []Variable{{"A", "1"}, {"B", "y"}}}, false},
		{Carried{Command: "npx", Args: []string{"s", "--key=x"}, Env: []Variable{{"A", "2"}, {"B", "y"}}}, false},
		{Carried{Command: "npx", Args: []string{"s", "--key=x"}, Env: []Variable{{"A", "1"}}}, false},
		{Carried{Command: "npx", Args: []string{"s"}, Env: []Variable{{"A", "1"}, {"B", "y"}}}, false},
		{Carried{URL: "https://x.example"}, false},
	} {
		if own.Is(&test.other) != test.want || test.other.Is(own) != test.want {
			t.Errorf("%+v: want %v", test.other, test.want)
		}
	}
}
