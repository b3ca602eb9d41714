package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// counted is a configuration of one server, and how often it was started.
func counted(t *testing.T) (config string, starts func() int) {
	t.Helper()
	started := filepath.Join(t.TempDir(), "started")
	const script = `echo x >> "$1"; exec "$0" serve everything`
	config = configuration(t, map[string]any{"every": map[string]any{"command": "sh", "args": []string{"-c", script, self(t)[0], started}}})
	return config, func() int {
		data, _ := os.ReadFile(started) // not there: never
		return strings.Count(string(data), "x")
	}
}

func TestAllThatListsSharesOneMemory(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"tools", "prompts --json", "tools every", "list", "chat -p hello"} {
		t.Run(first, func(t *testing.T) {
			clitest.NoState(t)
			config, starts := counted(t)
			runs(t, "", append(strings.Fields(first), "--config", config)...)
			if n := starts(); n != 1 {
				t.Fatalf("it was started %d times", n)
			}
			for command, want := range map[string]string{
				"tools --all":    "━━ every  (defined in " + config + ", 25 tools, not started, as of less than a minute ago)",
				"tools --json":   `{"servers":{"every":{"tools":[{`,
				"prompts":        ", 4 prompts, ",
				"resources":      ", 3 resources, ",
				"templates":      ", 1 resource template, ",
				"list":           "25 tools, not started, as of less than a minute ago)",
				"list --json":    `"tools":[{`,
				"tools -l --all": "Add two numbers.",
			} {
				if got := runs(t, "", append(strings.Fields(command), "--config", config)...); got.code != cli.ExitOK || !strings.Contains(got.stdout, want) {
					t.Errorf("%s: %+v", command, got)
				}
			}
			if n := starts(); n != 1 {
				t.Errorf("it was started %d times", n)
			}
			k := startTalk(t, "up", "--stdio", "--config", config)
			k.ask(1, "initialize", hello)
			if list, _ := k.ask(2, "tools/list", `{}`); !strings.Contains(list, `"every__echo"`) || starts() != 1 {
				t.Errorf("up, after %d starts: %.200s", starts(), list)
			}
			k.end()
			if got := runs(t, "", "tools", "--refresh", "--config", config); starts() != 2 || strings.Contains(got.stdout, "not started") {
				t.Errorf("with --refresh, after %d starts: %.200s", starts(), got.stdout)
			}
		})
	}
}

func TestAServerThatFailsIsOneLine(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{
		"broken": map[string]any{"command": "sh", "args": []string{"-c", `printf 'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n' >&2; exit 1`}},
		"mute":   map[string]any{"command": "sh", "args": []string{"-c", "cat > /dev/null"}},
	})
	for _, command := range []string{"tools", "prompts --json", "list"} {
		got := runs(t, "", append(strings.Fields(command), "--config", config, "--timeout", "1s")...)
		const want = "junction: server \"broken\": it exited with status 1: KeyError: 1\njunction: no answer from mute\n"
		if got.code != cli.ExitConnection || got.stderr != want {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := runs(t, "", "tools", "--config", config, "--timeout", "1s", "-v"); !strings.Contains(got.stderr, "Traceback") {
		t.Errorf("with -v: %+v", got)
	}
}

func TestServersThatCannotStartAreNotWaitedFor(t *testing.T) {
	clitest.Alone(t)
	servers := map[string]any{"z-missing": map[string]any{"command": "no-such-program"}}
	for i := range max(2, runtime.GOMAXPROCS(0)) {
		servers[fmt.Sprint("mute", i)] = map[string]any{"command": "sh", "args": []string{"-c", "cat > /dev/null"}}
	}
	got := runs(t, "", "tools", "--config", configuration(t, servers), "--timeout", "2500ms")
	if !strings.Contains(got.stderr, "still starting: mute0") || strings.Contains(strings.ReplaceAll(got.stderr, `server "z-missing"`, ""), "z-missing") {
		t.Errorf("%+v", got)
	}
}

func TestACacheFolderThatCannotBeUsedIsSaidOnce(t *testing.T) {
	clitest.Alone(t)
	if err := os.WriteFile(clitest.In(t, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Setenv(t, "XDG_CACHE_HOME", filepath.Join(clitest.PlaceOf(t).Getenv("HOME"), "file"))
	argv := self(t, "serve", "everything")
	one := map[string]any{"command": argv[0], "args": argv[1:]}
	got := runs(t, "", "tools", "--config", configuration(t, map[string]any{"one": one, "two": one}))
	if n := strings.Count(got.stderr, "not remembered"); got.code != cli.ExitOK || !strings.Contains(got.stdout, "━━ two  (defined in ") || n > 1 || n == 0 && runtime.GOOS == "linux" {
		t.Errorf("said %d times: %+v", n, got.stderr)
	}
}

// picky lists a tool more to clients that can be asked for a model's answer.
const picky = `tools='{"name":"plain","inputSchema":{"type":"object"}}'
while read line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*)
		case "$line" in *'"sampling"'*) tools="$tools"',{"name":"asks","inputSchema":{"type":"object"}}';; esac
		echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}';;
	*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":['"$tools"']}}';;
	*'"id":'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}';;
	esac
done`

func TestClientsWithEqualCapabilitiesShareRememberedTools(t *testing.T) {
	clitest.Alone(t)
	config := configuration(t, map[string]any{"picky": map[string]any{"command": "sh", "args": []string{"-c", picky}}})
	for i, test := range []struct {
		capabilities string
		asks         bool
		children     int // at most, after the list
	}{
		{`{}`, false, 1},
		{`{"sampling":{}}`, true, 1},
		{`{}`, false, 0},
		{`{"sampling":{}}`, true, 0},
	} {
		k := startTalk(t, "up", "--stdio", "--config", config)
		k.ask(1, "initialize", fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, test.capabilities))
		answer, _ := k.ask(2, "tools/list", `{}`)
		var list struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(list.Result.Tools); strings.Contains(got, "asks") != test.asks || !strings.Contains(got, "plain") {
			t.Errorf("client %d: %s", i, got)
		}
		if children := k.children(); runtime.GOOS == "linux" && len(children) > test.children {
			t.Errorf("client %d: it started %v", i, children)
		}
		k.end()
	}
}

func TestUpEndsAtOnceWithServersThatDo(t *testing.T) {
	clitest.Alone(t)
	ends := filepath.Join(t.TempDir(), "ends")
	server := map[string]any{"command": "sh", "args": append([]string{"-c", `"$@"; echo $? >>"$0"`, ends}, self(t, "serve", "everything")...), "start": "eager"}
	config := configuration(t, map[string]any{"one": server, "two": server})
	behind := time.Hour // the last server
	for attempt := 0; attempt < 5 && behind > 1500*time.Millisecond; attempt++ {
		_ = os.Remove(ends) // of the attempt before
		k := startTalk(t, "up", "--stdio", "--config", config)
		k.ask(1, "initialize", hello)
		for id, name := range []string{"one", "two"} {
			if answer, _ := k.ask(2+id, "tools/call", `{"name":"`+name+`__add","arguments":{"a":1,"b":2}}`); !strings.Contains(answer, `{"sum":3}`) {
				t.Fatal(answer)
			}
		}
		k.end()
		over := time.Now()
		if statuses, err := os.ReadFile(ends); err != nil || string(statuses) != "0\n0\n" {
			t.Fatalf("the servers ended with %q, %v", statuses, err)
		}
		info, err := os.Stat(ends)
		if err != nil {
			t.Fatal(err)
		}
		behind = min(behind, over.Sub(info.ModTime()))
	}
	if behind > 1500*time.Millisecond { // a server that does not end is given 2 seconds, each time
		t.Errorf("it ended %v after the last server", behind)
	}
}
