package chat_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/spf13/pflag"
)

func TestTheHelpOfChatNamesEveryFlagInEightyColumns(t *testing.T) {
	t.Parallel()
	a := &cli.App{Place: clitest.PlaceOf(t)}
	cmd := chat.Command(a)
	cmd.InitDefaultHelpFlag()
	var out strings.Builder
	cmd.SetOut(&out)
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(out.String(), "  --"+f.Name+" ") + strings.Count(out.String(), "  --"+f.Name+"[") + strings.Count(out.String(), ", --"+f.Name+" "); n < 1 {
			t.Errorf("--%s is in no group", f.Name)
		}
	})
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > cli.HelpWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, nothing := range []string{"default []", "default )", "default 0"} {
		if text := strings.Join(strings.Fields(out.String()), " "); strings.Contains(text, nothing) {
			t.Errorf("a default that says nothing is shown: %s", nothing)
		}
	}
}

func TestGreetingNamesAUsableModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ key, want string }{
		{"", "with its key in ANTHROPIC_API_KEY"},
		{"ANTHROPIC_API_KEY", "- `junction chat --model anthropic:claude-sonnet-4-5`\n"},
		{"GEMINI_API_KEY", "- `junction chat --model gemini:NAME`\n- `junction chat --model ollama"},
	} {
		hint := chat.ModelHint(func(name string) string {
			if name == test.key {
				return "secret"
			}
			return ""
		})
		if !strings.Contains(hint, test.want) || strings.Contains(hint, "secret") {
			t.Errorf("with %q: %s", test.key, hint)
		}
	}
}

func TestWritesPastTheScreenAreLogged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mcp.LogLevel{"junction: warning: y\n": mcp.LogWarning, "junction: error: z a=b": mcp.LogError, "junction: x: warning: y": mcp.LogInfo, "→ files {\"a\":\"b  c\"}\n": mcp.LogInfo} {
		if e := chat.LogEvent(text); e.Log.Level != want || string(e.Log.Data) != strconv.Quote(strings.TrimSpace(text)) {
			t.Errorf("%q is %s %s", text, e.Log.Level, e.Log.Data)
		}
	}
}

func TestJSONInTheLogOfTheScreenIsWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	setup := &chat.Setup{App: reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(&out)}}), Flags: &chat.Flags{Trace: true, OnScreen: true}}
	if err := setup.SetUpTrace(); err != nil {
		t.Fatal(err)
	}
	body := `{"model":"mock-1","messages":[{"role":"user","content":"` + strings.Repeat("a long  question ", 20) + `"}]}`
	setup.Trace.Event(host.Event{Decided: &host.Decided{Message: &model.Message{}, Exchanges: []model.Exchange{{Method: "POST", URL: "http://m", Status: 200, RequestBody: []byte(body)}}}})
	var data string
	if err := json.Unmarshal(chat.LogEvent(out.String()).Log.Data, &data); err != nil || !strings.Contains(data, body) {
		t.Errorf("the log has %s, %v", data, err)
	}
}

func TestGreetingWithoutServers(t *testing.T) {
	t.Parallel()
	own := host.Server{Name: "files", Origin: []string{"files-server"}}
	for _, test := range []struct {
		name    string
		servers []host.Server
		want    string
	}{
		{"nothing is said to who has one", []host.Server{own, {Name: "everything"}}, ""},
		{"those that ship are named as such", []host.Server{{Name: "everything"}}, "those that ship with Junction"},
		{"none at all", nil, "There are no servers"},
	} {
		o := host.Options{Model: scripted.New(), Servers: test.servers}
		greeting := (&chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}, Flags: &chat.Flags{Model: chat.ModelFlags{Model: "scripted"}}, Options: o}).Greeting()
		if !strings.Contains(greeting, test.want) || test.want == "" && greeting != "" {
			t.Errorf("%s: %q", test.name, greeting)
		}
	}
}

func TestExampleIsOfAToolThatOnlyReads(t *testing.T) {
	t.Parallel()
	two := json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)
	tool := func(server, name, state string, reads bool) host.ToolInfo {
		return host.ToolInfo{ToolRef: host.ToolRef{Server: server, Tool: name}, State: state, ReadOnly: reads, Sent: &model.Tool{Name: server + "__" + name, Schema: two}}
	}
	for _, test := range []struct {
		name  string
		tools []host.ToolInfo
		want  string
	}{
		{"a tool of this session", []host.ToolInfo{tool("calc", "get-sum", host.ToolSent, true)}, "add 2 and 40"},
		{"a tool to be approved", []host.ToolInfo{tool("calc", "get-sum", host.ToolUnapproved, true)}, "get-sum a=2 b=40"},
		{"a tool that may write", []host.ToolInfo{tool("calc", "add", host.ToolSent, false)}, ""},
		{"a tool that is denied", []host.ToolInfo{tool("calc", "add", host.ToolDenied, true)}, ""},
		{"a tool of the program itself", []host.ToolInfo{tool(host.OwnServer, "add", host.ToolSent, true)}, ""},
	} {
		setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}, Options: host.Options{Model: offline.New()}}
		if got := setup.Example(test.tools); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
		setup.Options.Model = scripted.New().As(model.Info{Language: true})
		if got := setup.Example(test.tools); got != "" {
			t.Errorf("%s: a language model gets the example %q", test.name, got)
		}
	}
}
