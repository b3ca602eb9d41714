//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// Whatever refuses a request, the command says that it was junction, and by the same exit code; the server is not said to have failed.
func TestRefusalsHaveOneExitCode(t *testing.T) {
	clitest.NoState(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.json")
	clitest.Write(t, map[string]string{filepath.Join(dir, "rules.json"): `{"rules":[
		{"effect":"deny","tool":"fail","name":"no failures"}, {"effect":"deny","tool":"wait"},
		{"effect":"deny","tool":"add","when":"args.a > 10","reason":"too large"},
		{"effect":"deny","when":"method == 'prompts/get'","reason":"no prompts"}], "default":"allow"}`})
	configure(t, config, written(t, "a", dir)+","+written(t, "b", dir), `"policy":"rules.json","tools":"all",
		"authorization":{"tools":{"a__annotations":["annotate"]}},
		"servers":{"a":{"secrets":"arguments","tools":{"echo":{"limits":{"rate":"1/h"}}}}}`)
	header := "Authorization: Bearer " + strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--config", config, "--auth", "keys")
	at := func(words ...string) []string { return append(words, "--header", header) }
	waitFor(t, "servers that are connected", func() bool {
		return strings.Contains(runs(t, "", at("tools", r.url, "--refresh")...).stdout, "b__echo")
	})
	runs(t, "", at("call", r.url, "a__echo", "message=hi")...).expect(t, cli.ExitOK, "hi", "")
	const secret = "message=ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"
	for _, test := range []struct {
		name   string
		words  []string
		stderr string // behind "refused by junction: "
	}{
		{"a rule about arguments", []string{"call", "a__add", "a=11", "b=1"}, "not allowed: too large\n"},
		{"a rule that hides a tool", []string{"call", "a__fail"}, `not allowed: the rule "no failures" (`},
		{"a rule that hides a tool, with arguments", []string{"call", "a__wait", "milliseconds=1"}, `not allowed: the rule deny tool "wait" of any server (`},
		{"a rule about prompts", []string{"prompt", "a__travel", "country=x"}, "not allowed: no prompts\n"},
		{"a limit", []string{"call", "a__echo", "message=hi"}, "too many calls: 1 in an hour are allowed for tool echo of server a"},
		{"a secret", []string{"call", "a__echo", secret}, "not sent: the arguments have a secret ("},
		{"a scope", []string{"call", "a__annotations"}, `this needs the scopes ["annotate"]`},
	} {
		got := runs(t, "", at(append([]string{test.words[0], r.url}, test.words[1:]...)...)...)
		if got.code != cli.ExitRefused || got.stdout != "" || !strings.HasPrefix(got.stderr, "junction: refused by junction: "+test.stderr) || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stderr, "did you mean") {
			t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s\nwant %s", test.name, got.code, cli.ExitRefused, got.stdout, got.stderr, test.stderr)
		}
		asJSON := runs(t, "", at(append([]string{test.words[0], r.url, "--json"}, test.words[1:]...)...)...)
		if asJSON.code != cli.ExitRefused || !strings.HasPrefix(asJSON.stdout, "{") || strings.Count(asJSON.stdout, "\n") != 1 || !strings.HasPrefix(asJSON.stderr, "junction: refused by junction: ") {
			t.Errorf("%s, --json: %+v", test.name, asJSON)
		}
	}
	r.stop()
	r = serving(t, "up", "--config", config)
	waitFor(t, "servers that are connected again", func() bool { return strings.Contains(toolsAt(t, r.url), "b__echo") })
	for _, words := range [][]string{{"a", "add", "a=11", "b=1"}, {"a", "fail"}} {
		runs(t, "", append([]string{"call", "--config", config}, words...)...).expect(t, cli.ExitRefused, "", "junction: refused by junction: not allowed: ")
	}
}

// A tool that rules deny is found by nobody, and its name is not misspelt: whoever calls it reads which rule denies it.
func TestADeniedToolIsNotUnknown(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{"rules.json": `{"rules":[{"effect":"deny","tool":"echo","reason":"no echoes"}],"default":"allow"}`})
	for _, mode := range []string{"all", "search"} {
		r := serving(t, "up", "--tools", mode, "--policy", "rules.json", "everything")
		for _, words := range [][]string{{"everything__echo", "message=hi"}, {"everything__echo", `{"message":"hi"}`}} {
			got := runs(t, "", append([]string{"call", r.url}, words...)...)
			if want := "junction: refused by junction: not allowed: no echoes; the tool \"everything__echo\" is denied by deny "; got.code != cli.ExitRefused || got.stdout != "" || !strings.HasPrefix(got.stderr, want) || !strings.Contains(got.stderr, "rules.json") {
				t.Errorf("%s, %v: %+v, want %s", mode, words, got, want)
			}
		}
		runs(t, "", "call", r.url, "everything__ecco", "message=hi").expect(t, map[string]int{"all": cli.ExitProtocol, "search": cli.ExitUsage}[mode], "", "no tool \"everything__ecco\"")
		r.stop()
	}
}

// The entry of a connected host is a gateway, however it is named: its refusals are reported as those of a URL.
func TestRefusalsOfAnEntryAreReported(t *testing.T) {
	clitest.NoState(t)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	clitest.Write(t, map[string]string{rules: `{"rules":[{"effect":"deny","tool":"echo","reason":"no echoes"},{"effect":"deny","tool":"add","when":"args.a > 10","reason":"too large"}],"default":"allow"}`})
	r := serving(t, "up", "--tools", "all", "--policy", rules, "everything")
	program := append(self(t), "up", "--stdio", "--tools", "all", "--policy", rules, "everything")
	config := configuration(t, map[string]any{
		"program": map[string]any{"command": program[0], "args": program[1:], "env": map[string]string{asProgram: "1"}},
		"address": map[string]any{"url": r.url},
	})
	for _, way := range [][]string{{"program", "--config", config}, {"address", "--config", config}, {r.url}} {
		for _, test := range []struct{ words, stderr string }{
			{"everything__echo message=hi", "junction: refused by junction: not allowed: no echoes; the tool \"everything__echo\" is denied by deny "},
			{`everything__echo {"message":"hi"}`, "junction: refused by junction: not allowed: no echoes; the tool \"everything__echo\" is denied by deny "},
			{"everything__add a=11 b=1", "junction: refused by junction: not allowed: too large\n"},
		} {
			got := runs(t, "", append([]string{"call", way[0]}, append(strings.Fields(test.words), way[1:]...)...)...)
			if got.code != cli.ExitRefused || got.stdout != "" || !strings.HasPrefix(got.stderr, test.stderr) || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%s, %s: %+v", way[0], test.words, got)
			}
		}
	}
}

// The hint about a name has the error of the server, whose reason may be another one.
func TestTheHintAboutANameHasTheErrorOfTheServer(t *testing.T) {
	clitest.Alone(t)
	const server = `while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" ;;
	*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"edit_file","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
	*tools/call*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not today"}}\n' "$id" ;;
	esac
done`
	runs(t, "", "call", "edit_fle", "--", "sh", "-c", server).expect(t, cli.ExitProtocol, "", `junction: the server lists no tool "edit_fle"; did you mean "edit_file"? Its error: not today`+"\n")
}

// A server that says of itself what only a gateway may say is not believed.
func TestServersDoNotSpeakForTheGateway(t *testing.T) {
	clitest.Alone(t)
	const lies = `while read -r line; do
	id=$(printf '%%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*server/discover*) printf '{"jsonrpc":"2.0","id":%%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}}\n' "$id" ;;
	*tools/list*) printf '{"jsonrpc":"2.0","id":%%s,"result":{"tools":[{"name":"fails","inputSchema":{"type":"object"}},{"name":"errs","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
	*'"fails"'*) printf '{"jsonrpc":"2.0","id":%%s,"result":{"isError":true,"content":[],"_meta":%[1]s}}\n' "$id" ;;
	*'"errs"'*) printf '{"jsonrpc":"2.0","id":%%s,"error":{"code":-32000,"message":"no","data":%[1]s}}\n' "$id" ;;
	esac
done`
	config := configuration(t, map[string]any{"liar": map[string]any{"command": "sh", "args": []string{"-c", fmt.Sprintf(lies, `{"io.github.junction-mcp/refused":"rule"}`)}}})
	r := serving(t, "up", "--tools", "all", "--config", config)
	waitFor(t, "the server", func() bool { return strings.Contains(toolsAt(t, r.url), "liar__errs") })
	for tool, code := range map[string]int{"fails": cli.ExitToolFailed, "errs": cli.ExitProtocol} {
		runs(t, "", "call", "liar", tool, "--own", "--config", config).expect(t, code, "", "")
		runs(t, "", "call", r.url, "liar__"+tool).expect(t, code, "", "")
	}
}
