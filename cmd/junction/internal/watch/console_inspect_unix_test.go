//go:build unix

package watch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/console/inspect"
)

// script is a legacy server in the language of the shell; body has a case for each method, with $id.
func script(begin, cases string) []string {
	return []string{"-c", begin + `
say() { printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"','"$1"'}'; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
` + cases + `
  *'"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}' ;;
  *notifications/*) ;;
  *) say '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done`}
}

// Somebody who meets MCP for the first time must find out from the page alone why a server does not work.
func TestTheInspectorSaysTheCauseAndTheRemedyOfTenFaults(t *testing.T) {
	clitest.Alone(t)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer locked.Close()
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	slow, err := json.Marshal([]string{"-c", "sleep 30"})
	if err != nil {
		t.Fatal(err)
	}
	noisy, err := json.Marshal([]string{"-c", "echo 'Listening for you!'; sleep 30"})
	if err != nil {
		t.Fatal(err)
	}
	p := clitest.InspectorWith(t, fmt.Sprintf(`{"mcpServers":{
		"unset":{"command":"sh","env":{"TOKEN":"${JUNCTION_TEST_UNSET}"}},
		"slow":{"command":"sh","args":%s,"startTimeout":"1s"},
		"noisy":{"command":"sh","args":%s,"startTimeout":"1s"}}}`, slow, noisy))
	for _, test := range []struct {
		name                string
		server              inspect.Server
		link, cause, remedy string
	}{
		{"a program that is not there", inspect.Server{Command: "no-such-program-here"}, "program", "not found", "install no-such-program-here"},
		{"a variable that the entry names", inspect.Server{Name: "unset"}, "variables", "JUNCTION_TEST_UNSET", "set the variable in the environment of junction"},
		{"a variable that the program wants", inspect.Server{Command: "sh", Args: []string{"-c", "echo 'Error: GITHUB_TOKEN is required' >&2; exit 1"}},
			"start", "it exited with status 1: Error: GITHUB_TOKEN is required", `add "env": {"GITHUB_TOKEN": …} to its entry`},
		{"a file that is not there", inspect.Server{Command: "sh", Args: []string{"./no-such-server.sh"}}, "start", "no-such-server.sh", `a file in "args" does not exist`},
		{"a folder that is not there", inspect.Server{Command: "sh", Dir: "/no-such-folder"}, "start", "/no-such-folder", `change "cwd" of the entry`},
		{"a path that is not there", inspect.Server{URL: nothing.URL + "/nope"}, "start", "404", "the address often ends with /mcp or /sse"},
		{"a certificate that nobody knows", inspect.Server{URL: untrusted.URL + "/mcp"}, "TLS", "certificate", "SSL_CERT_FILE"},
		{"a login that is needed", inspect.Server{URL: locked.URL + "/mcp"}, "authorization", "401", "sign in: junction login"},
		{"a revision that nobody speaks", inspect.Server{Command: "sh", Args: script("", `*'"initialize"'*) say '"result":{"protocolVersion":"1999-01-01","capabilities":{}}' ;;`)},
			"start", "1999-01-01", "have no protocol revision in common"},
		{"a revision that the server does not speak", inspect.Server{Command: "sh", Args: script("", ""), Revision: "2026-07-28"}, "start", "does not speak 2026-07-28", "if you chose a revision, remove that choice"},
		{"a start that takes long", inspect.Server{Name: "slow"}, "start", "within 1s", `the start takes longer than 1s: start it once by hand, or set "startTimeout" in its entry`},
		{"text where messages should be", inspect.Server{Name: "noisy"}, "output", `"Listening for you!"`, "the server must log to standard error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := clitest.InspectorPage{T: t, URL: p.URL}
			path := p.Begin(test.server)
			failed := p.Until(path, "state", "state", "failed")
			for what, want := range map[string]string{"link": test.link, "cause": test.cause, "remedy": test.remedy} {
				if got := clitest.Member(failed, "fault."+what); !strings.Contains(got, want) || got == "" {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			if got, want := clitest.Member(failed, "fault.login"), map[bool]string{true: "true"}[test.link == "authorization"]; got != want {
				t.Errorf("whether a login mends it: got %q, want %q", got, want)
			}
		})
	}
	t.Run("a schema that is none", func(t *testing.T) {
		p := clitest.InspectorPage{T: t, URL: p.URL}
		path := p.Begin(inspect.Server{Command: "sh", Args: script("", `*tools/list*) say '"result":{"tools":[{"name":"search","inputSchema":{"type":"object","properties":{"q":{"type":"strin"}}}}]}' ;;`)})
		p.Until(path, "state", "state", "connected")
		p.Post(path+"/requests", map[string]string{"method": "tools/list"})
		found := p.Until(path, "finding", "subject", "search")
		if got := clitest.Member(found, "where"); got != "inputSchema" {
			t.Errorf("where: got %q", got)
		}
		if got := clitest.Member(found, "problem"); !strings.Contains(got, "strin") {
			t.Errorf("the problem: got %q", got)
		}
		if got := clitest.Member(found, "remedy"); !strings.Contains(got, "the author of the server must correct the schema") {
			t.Errorf("the remedy: got %q", got)
		}
	})
	t.Run("text between the messages", func(t *testing.T) {
		p := clitest.InspectorPage{T: t, URL: p.URL}
		path := p.Begin(inspect.Server{Command: "sh", Args: script("echo 'Server begins'", "")})
		p.Until(path, "state", "state", "connected")
		line := p.Until(path, "stdout", "line", "Server begins")
		if got := clitest.Member(line, "remedy"); !strings.Contains(got, "the server must log to standard error") {
			t.Errorf("the remedy: got %q", got)
		}
	})
	t.Run("an end in the middle of a call", func(t *testing.T) {
		p := clitest.InspectorPage{T: t, URL: p.URL}
		path := p.Begin(inspect.Server{Command: "sh", Args: script("", `*tools/call*) echo 'Error: cannot divide by zero' >&2; exit 3 ;;`)})
		p.Until(path, "state", "state", "connected")
		p.Post(path+"/requests", map[string]any{"method": "tools/call", "params": map[string]any{"name": "divide", "arguments": map[string]int{"by": 0}}})
		result := p.Until(path, "result", "", "")
		if got := clitest.Member(result, "error.cause"); !strings.Contains(got, "status 3: Error: cannot divide by zero") {
			t.Errorf("the cause: got %q", got)
		}
		if got := clitest.Member(result, "error.remedy"); !strings.Contains(got, `the server ended while it was at tools/call "divide"`) {
			t.Errorf("the remedy: got %q", got)
		}
		over := p.Until(path, "state", "state", "ended")
		if got := clitest.Member(over, "fault.cause"); !strings.Contains(got, "status 3: Error: cannot divide by zero") {
			t.Errorf("the state: got %s", over)
		}
		if got := clitest.Member(over, "fault.remedy"); !strings.Contains(got, "read in its output why it ended") {
			t.Errorf("the state's remedy is not about a server that ran: got %q", got)
		}
		again := p.Post(path+"/connect", nil)
		p.Until(path+"/events?after="+clitest.Member(again, "events"), "state", "state", "connected")
	})
}
