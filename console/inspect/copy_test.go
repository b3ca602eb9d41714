package inspect

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// hostile are texts that a shell would run, expand or drop if they were quoted wrongly.
var hostile = []string{
	"plain", "two words", "", "it's", `say "hi"`, "$HOME", "$(touch pwned)", "`touch pwned`", `\`, `\'`, "a\nb", "a;b", "a&&b", "a|b", ">pwned",
	"*", "?", "[a]", "~", "!x", "#no comment", "{a,b}", "äöü 漢字 🙂", "'; touch pwned; '", "\t", "'\"'\"'", "-n", "--help", "a=b", "\r",
}

// words runs a command line in a shell in which name prints its words, and returns them.
func words(t *testing.T, name, line string) []string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	cmd := exec.Command(shell, "-c", name+` () { for word; do printf '%s\0' "$word"; done; }; `+line)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"TOKEN=a secret", "AUTHORIZATION=Bearer $x 'y'", "X_KEY=k", "MCP_SESSION_ID=s"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	if left, _ := exec.Command("ls", cmd.Dir).Output(); len(left) > 0 {
		t.Fatalf("%s: something ran: %s", line, left)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestAShellParsesCommandLinesAsIntended(t *testing.T) {
	for _, text := range hostile {
		quoted, err := json.Marshal(map[string]string{"message": text})
		if err != nil {
			t.Fatal(err)
		}
		params, err := json.Marshal(object{"name": "echo", "arguments": json.RawMessage(quoted)})
		if err != nil {
			t.Fatal(err)
		}
		q := &pageRequest{Method: "tools/call", Params: params}
		for _, test := range []struct {
			entry Entry
			want  []string
		}{
			{Entry{Name: text, Configured: true}, []string{"call", text, "echo", "--args", string(quoted)}},
			{Entry{Command: "serve " + text, Args: []string{text, "-x"}, Env: []string{"TOKEN"}},
				[]string{"call", "echo", "--args", string(quoted), "--env", "TOKEN=a secret", "--", "serve " + text, text, "-x"}},
			{Entry{URL: "https://example.com/mcp", Headers: []string{"Authorization", "X-Key"}},
				[]string{"call", "https://example.com/mcp", "echo", "--args", string(quoted), "--header", "Authorization: Bearer $x 'y'", "--header", "X-Key: k"}},
		} {
			if test.entry.Configured && (text == "" || strings.HasPrefix(text, "-")) {
				continue // not possible in a configuration
			}
			if got := words(t, "junction", test.entry.command(q, "")); !slices.Equal(got, test.want) {
				t.Errorf("%q became %q, want %q", text, got, test.want)
			}
		}
		read := &pageRequest{Method: "resources/read", Params: json.RawMessage(`{"uri":` + string(mustQuote(t, text)) + `}`)}
		line := Entry{Name: "s", Configured: true}.command(read, "")
		if text == "" || strings.HasPrefix(text, "-") {
			if line != "" {
				t.Errorf("%q would be a flag: %s", text, line)
			}
			continue
		}
		if got, want := words(t, "junction", line), []string{"get", "resource", "s", text}; !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		sent := &pageRequest{url: "https://example.com/mcp?a=hidden", message: quoted, header: http.Header{"X-Key": {"never shown"}, "Mcp-Name": {text}, "Content-Type": {"application/json"}}}
		if got, want := words(t, "curl", sent.curl()), []string{"-gsS", "-N", "--url", "https://example.com/mcp?a=***", "-H", "Content-Type: application/json", "-H", "Mcp-Name: " + text, "-H", "X-Key: k", "--data-raw", string(quoted)}; !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func mustQuote(t *testing.T, text string) []byte {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return quoted
}

func TestRequestsAreCopiedInTheWordsOfJunction(t *testing.T) {
	everything := Entry{Name: "everything", Configured: true}
	for _, test := range []struct{ method, params, want string }{
		{"ping", "", "junction server ping everything"},
		{"tools/list", "", "junction list tools everything"},
		{"resources/list", "", "junction list resources everything"},
		{"resources/templates/list", "", "junction list templates everything"},
		{"prompts/list", "", "junction list prompts everything"},
		{"tools/call", `{"name":"add"}`, "junction call everything add --args '{}'"},
		{"tools/call", `{"name":"nul \u0000"}`, ""},
		{"tools/call", `{"name":"--flag"}`, ""},
		{"tools/call", `{"name":"--args","arguments":{"a":1}}`, ""},
		{"prompts/get", `{"name":"travel","arguments":{"country":"Norway"}}`, "junction get prompt everything travel country=Norway"},
		{"prompts/get", `{"name":"travel","arguments":{"country":"@file"}}`, "junction get prompt everything travel country=@@file"},
		{"prompts/get", `{"name":"travel","arguments":{"a=b":"x"}}`, ""},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"travel"},"argument":{"name":"city","value":"O"},"context":{"arguments":{"country":"Norway"}}}`, "junction get completion everything travel city=O country=Norway"},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"a://{b}"},"argument":{"name":"b","value":""}}`, "junction get completion everything 'a://{b}' b="},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"travel"},"argument":{"name":"city","value":"@O"},"context":{"arguments":{"a.b":"@c"}}}`, "junction get completion everything travel city=@O a.b=@c"},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"travel"},"argument":{"name":"a=b","value":"O"}}`, ""},
		{"tasks/get", `{"taskId":"1"}`, ""},
	} {
		if got := everything.command(&pageRequest{Method: test.method, Params: json.RawMessage(test.params)}, ""); got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.method, test.params, got, test.want)
		}
	}
	for _, name := range []string{"-c", "--config=/tmp/other.json"} {
		if got := (Entry{Name: name, Configured: true}).command(&pageRequest{Method: "ping"}, ""); got != "" {
			t.Errorf("the name of a server becomes a flag: %s", got)
		}
	}
	elsewhere := Entry{Command: "./serve", Dir: "/some where", Configured: false}
	if got, want := elsewhere.command(&pageRequest{Method: "ping"}, "2025-06-18"), "(cd -- '/some where' && junction server ping --revision 2025-06-18 -- ./serve)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARequestThatWasMadeIsCopied(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, way, revision string) {
		n := text(c.ask(path, "tools/call", object{"name": "echo", "arguments": object{"message": "it's"}}), "request")
		got := c.do("GET", path+"/copy/"+n, nil, http.StatusOK)
		if want := `--args '{"message":"it'\''s"}'`; !strings.Contains(text(got, "junction"), want) {
			t.Errorf("junction: %s, want %s in it", text(got, "junction"), want)
		}
		curl := text(got, "curl")
		if way != "HTTP" {
			if curl != "" || !strings.Contains(text(got, "notes"), "curl is for servers with a URL") {
				t.Errorf("curl: %s", got)
			}
			return
		}
		want := []string{`-H 'Content-Type: application/json'`, `-H 'Mcp-Protocol-Version: ` + revision + `'`, `"method":"tools/call"`}
		if revision == "2025-11-25" {
			want = append(want, `-H 'Mcp-Session-Id: '"$MCP_SESSION_ID"`)
		} else {
			want = append(want, `-H 'Mcp-Method: tools/call'`, `-H 'Mcp-Name: echo'`)
		}
		for _, part := range want {
			if !strings.Contains(curl, part) {
				t.Errorf("curl: %s, want %s in it", curl, part)
			}
		}
		if program, err := exec.LookPath("curl"); err == nil && revision == "2026-07-28" {
			out, err := exec.Command("sh", "-c", program+strings.TrimPrefix(curl, "curl")).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "it's") {
				t.Errorf("curl answers %s, %v", out, err)
			}
		}
		if got := text(got, "entry.mcpServers"); !strings.Contains(got, `"type":"http"`) && !strings.Contains(got, `"type": "http"`) {
			t.Errorf("the entry: %s", got)
		}
	})
}

func TestAnEntryHasNoSecrets(t *testing.T) {
	got, err := json.Marshal(Entry{Command: "/usr/bin/npx", Args: []string{"-y", "server"}, Env: []string{"API_KEY"}, Dir: "/d"}.servers())
	if want := `{"mcpServers":{"npx":{"args":["-y","server"],"command":"/usr/bin/npx","cwd":"/d","env":{"API_KEY":"${API_KEY}"}}}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	got, err = json.Marshal(Entry{URL: "https://mcp.example.com/sse", Type: "sse", Headers: []string{"X-Key"}}.servers())
	if want := `{"mcpServers":{"mcp.example.com":{"headers":{"X-Key":"${X_KEY}"},"type":"sse","url":"https://mcp.example.com/sse"}}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
