package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A running is a command that serves.
type running struct {
	url      string
	stderr   *clitest.SafeBuffer
	stop     func() int // interrupts it and returns its exit code
	exitCode chan int
}

var address = regexp.MustCompile(`https?://127\.0\.0\.1:\d+/mcp`)

// serving runs a command that serves at an address of its choice, until the test
// is over.
func serving(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	r := &running{stderr: new(clitest.SafeBuffer), exitCode: make(chan int, 1)}
	up := make(chan string, 1)
	printed := &watchedBuffer{word: "/mcp", seen: func() {
		select {
		case up <- address.FindString(r.stderr.String()):
		default:
		}
	}}
	go func() {
		r.exitCode <- run(ctx, clitest.PlaceOf(t), append([]string{args[0], "--http", "127.0.0.1:0"}, args[1:]...), strings.NewReader(""), io.Discard, io.MultiWriter(r.stderr, printed))
	}()
	stopped := -1
	r.stop = func() int {
		if stopped < 0 {
			interrupt(cli.ErrInterrupted)
			stopped = <-r.exitCode
		}
		return stopped
	}
	t.Cleanup(func() { r.stop() })
	select {
	case r.url = <-up:
	case code := <-r.exitCode:
		r.exitCode <- code
		select {
		case r.url = <-up: // it served before
		default:
			t.Fatalf("%s ended with %d before it served: %s", args[0], code, r.stderr.String())
		}
	case <-time.After(guardTime):
		t.Fatalf("%s does not serve: %s", args[0], r.stderr.String())
	}
	return r
}

func TestUpServesShippedServersWithoutConfiguration(t *testing.T) {
	clitest.Alone(t)
	if err := os.WriteFile(clitest.In(t, "note.txt"), []byte("in the folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up")
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		if got := runs(t, "", "call", r.url, "everything__add", "a=1", "b=2", "--revision", revision); got.stdout != "{\"sum\":3}\n" {
			t.Errorf("got %+v", got)
		}
	}
	if got := runs(t, "", "tools", r.url, "--json"); !strings.Contains(got.stdout, "filesystem__") || strings.Contains(got.stdout, "filesystem__write") {
		t.Errorf("got %+v", got)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		`{"mcpServers":{"junction":{"command":`, `"args":["up","--stdio"]}}}`, `{"mcpServers":{"junction":{"url":"` + r.url + `"}}}`,
		"everything  connected", "filesystem  connected",
	} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("%q is not in\n%s", want, r.stderr.String())
		}
	}
}

func TestUpExplainsMissingServers(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{
		"every":  map[string]any{"command": argv[0], "args": argv[1:]},
		"dead":   map[string]any{"command": "sh", "args": []string{"-c", "echo last words >&2; exit 7"}},
		"broken": map[string]any{"command": "x", "env": map[string]string{"TOKEN": "${JUNCTION_TEST_UNSET}"}},
	})
	r := serving(t, "up", "--config", config)
	if got := runs(t, "", "call", r.url, "every__ask-two-at-once", "--elicit", `{"name":"Ada","place":"Oslo"}`); got.stdout != "Ada is in Oslo.\n" {
		t.Errorf("got %+v", got)
	}
	r.stop()
	shown := strings.Join(strings.Fields(r.stderr.String()), " ")
	for _, want := range []string{"every connected, revision 2026-07-28: 25 tools, 3 resources, 1 template, 4 prompts", "dead failed: it exited with status 7: last words",
		"JUNCTION_TEST_UNSET", `"up","--stdio","--config",`, "servers.json: broken, dead, every"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, r.stderr.String())
		}
	}
}

func TestUpOnStandardInputAndOutput(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "up", "--stdio")
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		got := runs(t, "", append([]string{"call", "everything__echo", "message=hi", "--revision", revision, "--"}, argv...)...)
		if got.code != cli.ExitOK || got.stdout != "hi\n" {
			t.Errorf("got %+v", got)
		}
	}
}

func TestStdioHoldsNothingButTheProtocol(t *testing.T) {
	clitest.Alone(t)
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	for _, args := range [][]string{{"serve", "everything"}, {"up", "--stdio"}, append([]string{"proxy", "--"}, self(t, "serve", "everything")...)} {
		for _, first := range []string{discover, initialize} {
			got := runs(t, first, args...)
			for line := range strings.Lines(got.stdout) {
				var message struct{ JSONRPC string }
				if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
					t.Errorf("%v: printed %q", args, line)
				}
			}
			if got.code != cli.ExitOK || !strings.Contains(got.stdout, `"result"`) {
				t.Errorf("%v: got %+v", args, got)
			}
		}
	}
}

func TestClientsOfTheOlderHTTPTransportAreServed(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "serve", "everything")
	config := configuration(t, map[string]any{"old": map[string]any{"type": "sse", "url": strings.TrimSuffix(r.url, "/mcp") + "/sse"}})
	if got := runs(t, "", "call", "old", "add", "a=1", "b=2", "--config", config, "--revision", "2024-11-05"); got.code != cli.ExitOK || !strings.Contains(got.stdout, "3") {
		t.Errorf("got %+v", got)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestProxyBridgesTheEras(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, append([]string{"proxy", "--revision", "2025-06-18", "--"}, self(t, "serve", "everything")...)...)
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		got := runs(t, "", "call", r.url, "ask-two-at-once", "--elicit", `{"name":"Ada","place":"Oslo"}`, "--revision", revision)
		if got.stdout != "Ada is in Oslo.\n" {
			t.Errorf("got %+v", got)
		}
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestProxyEndsWithTheServer(t *testing.T) {
	clitest.Alone(t)
	end := filepath.Join(t.TempDir(), "end")
	const script = `exec 3<&0; "$0" serve everything <&3 & while [ ! -e "$1" ]; do sleep 0.05; done; kill $!`
	front := serving(t, "proxy", "--", "sh", "-c", script, self(t)[0], end)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := <-front.exitCode; code != cli.ExitConnection || !strings.Contains(front.stderr.String(), "lost the connection to the server") {
		t.Errorf("exit code %d, stderr %s", code, front.stderr.String())
	}
	front.exitCode <- cli.ExitConnection
}

func TestProxyOnStandardInputAndOutputEndsWithTheServer(t *testing.T) {
	clitest.Alone(t)
	end := filepath.Join(t.TempDir(), "end")
	const script = `exec 3<&0; "$0" serve everything <&3 & while [ ! -e "$1" ]; do sleep 0.05; done; echo last words >&2; kill $!; exit 7`
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() // the client stays
	stdout := &watchedBuffer{word: `"serverInfo"`, seen: func() { _ = os.WriteFile(end, nil, 0o600) }}
	stderr, exitCode := new(clitest.SafeBuffer), make(chan int, 1)
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	defer interrupt(nil)
	go func() {
		exitCode <- run(ctx, clitest.PlaceOf(t), append([]string{"proxy", "--", "sh", "-c", script}, self(t)[0], end), in, stdout, stderr)
	}()
	if _, err := client.WriteString(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-exitCode:
		if said := stderr.String(); code != cli.ExitConnection || !strings.Contains(said, "lost the connection to the server") || !strings.Contains(said, "last words") {
			t.Errorf("exit code %d, stderr %s", code, said)
		}
	case <-time.After(guardTime):
		t.Fatalf("the command runs on; stderr %s", stderr.String())
	}
}

func TestAddressesBeyondThisMachineAreWarnedOf(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct{ args, want, not string }{
		{"serve everything --http 0.0.0.0:0", "every client that can reach it may call the tools", "is not encrypted"},
		{"up everything --http 0.0.0.0:0", "every client that can reach it may call the tools", "is not encrypted"},
		{"up everything --http 0.0.0.0:0 --auth keys", "is not encrypted, and others can read keys, tokens and results; give --tls-cert", "every client"},
		{"up everything --http 0.0.0.0:0 --auth keys --public-url https://tools.example", "at https://tools.example/mcp", "warning"},
		{"up everything --http 127.0.0.1:0 --auth keys", "at http://127.0.0.1", "warning"},
	} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		stderr := &watchedBuffer{word: "/mcp", seen: func() { interrupt(cli.ErrInterrupted) }}
		if code := run(ctx, clitest.PlaceOf(t), strings.Fields(test.args), strings.NewReader(""), io.Discard, stderr); code != cli.ExitOK {
			t.Errorf("%s: exit code %d", test.args, code)
		}
		if said := stderr.String(); !strings.Contains(said, test.want) || strings.Contains(said, test.not) {
			t.Errorf("%s: %s", test.args, said)
		}
	}
}

// configuration writes a configuration file that belongs to no project.
func configuration(t *testing.T, servers map[string]any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(clitest.In(t, path), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNamesAreAllowedByAFlag(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "serve", "everything", "--allow-host", "mcp.example", "--allow-origin", "https://app.example")
	for host, want := range map[string]int{"mcp.example": http.StatusMethodNotAllowed, "evil.example": http.StatusForbidden} {
		for origin, allowed := range map[string]bool{"https://app.example": true, "https://evil.example": false} {
			req, err := http.NewRequest(http.MethodPut, r.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("Origin", origin)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			expected := want
			if !allowed {
				expected = http.StatusForbidden
			}
			if resp.StatusCode != expected {
				t.Errorf("%s from %s: status %d, want %d", host, origin, resp.StatusCode, expected)
			}
		}
	}
}
