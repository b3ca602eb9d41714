//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// logsCalls is a server that writes each call to its standard error, and ends with the call of crash.
const logsCalls = `while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
case $line in
*'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id";;
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}}\n' "$id";;
*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"note","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},{"name":"crash","inputSchema":{"type":"object"}}]}}\n' "$id";;
*'"crash"'*) exit 1;;
*'"tools/call"'*) printf 'DEBUG call %s\n' "$line" >&2; printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"noted"}]}}\n' "$id";;
esac
done`

// Where callers are different people, one does not get what a server wrote to its standard error, which may be what another sent.
func TestStandardErrorIsShownToItsUserOnly(t *testing.T) {
	t.Parallel()
	const private = "my diagnosis"
	calls := func(tools ...string) (all [][]string) {
		for _, tool := range tools {
			all = append(all, append([]string{"call"}, strings.Fields(tool)...))
		}
		return all
	}
	ofGateway := append(calls("notes__crash", "broken__x"), []string{"tools", "--json"})
	for _, test := range []struct {
		name    string
		command []string
		several bool
		note    string
		asked   [][]string // by the second client: the command, and what follows the address
	}{
		{"a gateway for several people", []string{"up", "--tools", "all"}, true, "notes__note", ofGateway},
		{"a gateway for one", []string{"up", "--tools", "all"}, false, "notes__note", ofGateway},
		{"a gateway for several people whose tools are searched", []string{"up", "--tools", "search"}, true, "notes__note", calls("notes__crash", "broken__x", "describe_tool name=broken__x", "call_tool name=broken__x")},
		{"a proxy for several people", []string{"proxy", "notes"}, true, "note", calls("crash")},
		{"a proxy for one", []string{"proxy", "notes"}, false, "note", calls("crash")},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.NoState(t)
			config := filepath.Join(t.TempDir(), "mcp.json")
			clitest.Write(t, map[string]string{config: fmt.Sprintf(`{"mcpServers":{"notes":{"command":"sh","args":["-c",%q]},"broken":{"command":"sh","args":["-c","echo %s >&2; exit 1"]}}}`, logsCalls, private)})
			args, headers := append(test.command, "--config", config), [2][]string{}
			if test.several {
				args = append(args, "--auth", "keys")
				for k, user := range []string{"ann", "bob"} {
					headers[k] = []string{"--header", "Authorization: Bearer " + strings.TrimSpace(runs(t, "", "key", "create", user).stdout)}
				}
			}
			r := serving(t, args...)
			runs(t, "", append([]string{"call", r.url, test.note, "text=" + private}, headers[0]...)...).expect(t, cli.ExitOK, "noted", "")
			for _, ask := range test.asked {
				got := runs(t, "", slices.Concat([]string{ask[0], r.url}, ask[1:], headers[1])...)
				text := got.stdout + got.stderr
				if strings.Contains(text, private) == test.several || strings.Contains(text, "it exited with status 1; the operator's log has more") != test.several {
					t.Errorf("%q shows: %s", ask, text)
				}
			}
			if test.command[0] == "up" {
				waitFor(t, "the log says how the server ended", func() bool { return strings.Contains(r.stderr.String(), "exited with status 1: DEBUG call") })
			}
		})
	}
}
