package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAnUnknownToolIsNamedHoweverTheServerRefusesIt(t *testing.T) {
	clitest.Alone(t)
	const script = `while read line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}';;
	*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"forecast","inputSchema":{"type":"object"}}]}}';;
	*'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"isError":true,"content":[{"type":"text","text":"Tool not found"}]}}';;
	esac
done`
	for _, test := range []struct {
		args string
		code int
		want string // on standard error
	}{
		{"forcast", cli.ExitToolFailed, `junction: the server lists no tool "forcast"; did you mean "forecast"?`},
		{`forcast {"city":"Oslo"}`, cli.ExitToolFailed, `junction: the server lists no tool "forcast"; did you mean "forecast"?`},
		{"forcast city=@none.txt", cli.ExitUsage, `junction: the server lists no tool "forcast"; did you mean "forecast"?`},
		{"other", cli.ExitToolFailed, `junction: the server lists no tool "other"; junction list tools lists those that it has`},
		{"forecast", cli.ExitToolFailed, ""},
	} {
		args := append(append([]string{"call"}, strings.Fields(test.args)...), "--revision", "2025-11-25", "--", "sh", "-c", script)
		got := runs(t, "", args...)
		if got.code != test.code || !strings.Contains(got.stderr, test.want) || test.want == "" && strings.Contains(got.stderr, "lists no tool") {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
	if got := runs(t, "", "call", "everything", "masage", "x=1"); got.code != cli.ExitProtocol || !strings.Contains(got.stderr, `unknown tool "masage"`) || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a name that is like none: %+v", got)
	}
	for _, args := range []string{`call everything ad {"a":1}`, "call everything ad --json"} {
		if got := runs(t, "", strings.Fields(args)...); got.code != cli.ExitProtocol || !strings.Contains(got.stderr, "junction: the server lists no tool") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
