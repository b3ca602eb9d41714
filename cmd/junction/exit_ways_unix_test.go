//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// diesCalled ends when its tool is called, answers the tool "refused" with a protocol error, and the tool "slow" never.
const diesCalled = `while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" ;;
	*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"die","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}},{"name":"refused","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"fails","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
	*'"die"'*) exit 7 ;;
	*'"refused"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not today"}}\n' "$id" ;;
	*'"fails"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[]}}\n' "$id" ;;
	*'"slow"'*) ;;
	*tools/call*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}\n' "$id" ;;
	*ping*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
	esac
done`

// An exitingCall is a call of a tool, and the exit code that says what went wrong.
type exitingCall struct {
	name, server string
	words        []string // a tool, and flags
	code         int
}

// exitingCalls returns a configuration and calls of its servers.
func exitingCalls(t *testing.T) (config string, calls []exitingCall) {
	t.Helper()
	config = configuration(t, map[string]any{
		"live":    map[string]any{"command": "sh", "args": []string{"-c", diesCalled}, "timeout": "2s"},
		"ended":   map[string]any{"command": "sh", "args": []string{"-c", "echo broken >&2; exit 3"}},
		"missing": map[string]any{"command": filepath.Join(t.TempDir(), "none")},
		"nowhere": map[string]any{"url": "http://127.0.0.1:1/mcp"},
		"refuses": map[string]any{"command": "sh", "args": []string{"-c", `read -r line; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}\n'; read -r line; printf '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}\n'; cat >/dev/null`}},
	})
	return config, []exitingCall{
		{"an error of the server", "live", []string{"refused"}, cli.ExitProtocol},
		{"a tool that fails", "live", []string{"fails"}, cli.ExitToolFailed},
		{"a tool that there is not", "live", []string{"none"}, cli.ExitProtocol},
		{"arguments that do not fit", "live", []string{"die", "n=x"}, cli.ExitUsage},
		{"no response in time", "live", []string{"slow"}, cli.ExitTimeout},
		{"no response in the time of a flag", "live", []string{"slow", "--timeout", "300ms"}, cli.ExitTimeout},
		{"a server that ends in the call", "live", []string{"die"}, cli.ExitConnection},
		{"a program that ends at once", "ended", []string{"tool"}, cli.ExitConnection},
		{"a program that there is not", "missing", []string{"tool"}, cli.ExitConnection},
		{"an address where nobody listens", "nowhere", []string{"tool"}, cli.ExitConnection},
		{"a server that refuses the handshake", "refuses", []string{"tool"}, cli.ExitConnection},
	}
}

// exits runs a call by the first words of a command.
func (c exitingCall) exits(t *testing.T, way string, words ...string) {
	t.Helper()
	if got := runs(t, "", append(words, c.words[1:]...)...); got.code != c.code || got.stdout != "" {
		t.Errorf("%s, %s: exit code %d, want %d\n%s%s", c.name, way, got.code, c.code, got.stdout, got.stderr)
	}
}

// The exit code of a call says what went wrong with the server, whichever way it goes.
func TestExitCodeIsTheSameWithAServerOfItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other, with other processes")
	}
	clitest.Alone(t)
	config, calls := exitingCalls(t)
	for _, c := range calls {
		runs(t, "", append([]string{"call", c.server, "--own", "--config", config}, c.words...)...).expect(t, c.code, "", "")
	}
}

func TestExitCodeIsTheSameThroughProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other, with other processes")
	}
	clitest.Alone(t)
	config, calls := exitingCalls(t)
	for _, c := range calls {
		if c.server == "live" {
			r := serving(t, "proxy", "live", "--config", config)
			c.exits(t, "through proxy", "call", r.url, c.words[0])
		}
	}
}

func TestExitCodeIsTheSameThroughUp(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other, with other processes")
	}
	clitest.Alone(t)
	config, calls := exitingCalls(t)
	r := serving(t, "up", "--tools", "all", "--config", config)
	waitFor(t, "servers that were tried", func() bool {
		return strings.HasPrefix(firstShown(t).Summary, "5 servers: 1 connected, 4 failed")
	})
	for _, c := range calls {
		c.exits(t, "through up", "call", r.url, c.server+"__"+c.words[0])
		c.exits(t, "by its name while up runs", "call", c.server, c.words[0], "--config", config)
	}
}

// A call by a server's name goes to the process that junction up has of it.
func TestCallUsesTheServerThatRuns(t *testing.T) {
	clitest.Alone(t)
	starts := filepath.Join(t.TempDir(), "starts")
	argv := self(t, "serve", "memory", "--file", filepath.Join(t.TempDir(), "memory.db"))
	const script = `echo start >>"$1"; shift; exec "$@"`
	entry := map[string]any{"command": "sh", "args": append([]string{"-c", script, "sh", starts}, argv...)}
	config := configuration(t, map[string]any{"memory": entry})
	serving(t, "up", "--config", config, "--audit="+filepath.Join(t.TempDir(), "audit"))
	waitFor(t, "connected", func() bool { return firstShown(t).Servers[0].State == "connected" })
	count := func() int {
		text, err := os.ReadFile(starts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "start")
	}
	direct := runs(t, "", "tools", "memory", "--own", "--json", "--config", config)
	if count() != 2 {
		t.Fatalf("%d starts, want that of up and one of its own", count())
	}
	shared := runs(t, "", "tools", "memory", "--json", "--config", config)
	if count() != 2 || shared.code != cli.ExitOK || len(memberNames(t, shared.stdout)) == 0 {
		t.Errorf("tools: %d starts, %+v", count(), shared)
	}
	if names := listedNames(t, direct.stdout); names == "" || names != listedNames(t, shared.stdout) {
		t.Errorf("tools of the server: %s; through up: %s", names, listedNames(t, shared.stdout))
	}
	runs(t, "", "call", "memory", "read_graph", "--config", config).expect(t, cli.ExitOK, "entities", "")
	if count() != 2 {
		t.Errorf("call: the server was started again")
	}
	for _, own := range [][]string{{"--own"}, {"--revision", "2025-11-25"}, {"--env", "A=b"}, {"--record", filepath.Join(t.TempDir(), "r.jsonl")}, {"-v"}} {
		before := count()
		if runs(t, "", append([]string{"call", "memory", "read_graph", "--config", config}, own...)...).expect(t, cli.ExitOK, "entities", ""); count() != before+1 {
			t.Errorf("%v: %d starts, want one more than %d", own, count(), before)
		}
	}
	entry["args"] = append(entry["args"].([]string), "--")
	before := count()
	other := configuration(t, map[string]any{"memory": entry})
	runs(t, "", "call", "memory", "read_graph", "--config", other)
	if count() != before+1 {
		t.Error("the server of another file was used")
	}
}
