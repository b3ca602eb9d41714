package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

// endsSaying is a program that ends with a line on its standard error.
func endsSaying(t *testing.T, line string) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	return []string{sh, "-c", `printf '%s\n' "$1" >&2; exit 1`, "sh", line}
}

// noToolsServer is a server that starts, and answers with an error when it is to list its tools.
func noToolsServer(t *testing.T) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	return []string{sh, "-c", `while read -r line; do
		id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
		case $line in
		*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}' ;;
		*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32603,"message":"fetch failed"}}' ;;
		*) [ -z "$id" ] || echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}' ;;
		esac
	done`}
}

func TestAServerThatDoesNotListItsToolsIsNotAdded(t *testing.T) {
	alone(t)
	s := newPackageSet(t)
	s.versions["@x/echo@4.0.0"] = noToolsServer(t)
	s.runs(t, "", "add", "npm:@x/echo@4.0.0", "--yes").expect(t, exitConnection, "",
		`server "echo" starts, and does not list its tools, so nothing was changed: fetch failed (code -32603); to mend it: where its author says that it needs arguments or variables: junction add npm:@x/echo@4.0.0 --env NAME=VALUE -- ARGUMENT…`)
	if configuration, lock := pair(t); configuration+lock != "" {
		t.Errorf("it was added: %s %s", configuration, lock)
	}
}

func TestAPackageThatWasMadeForAnOlderMCPGetsIt(t *testing.T) {
	alone(t)
	s := newPackageSet(t)
	s.newest["mcp-timer"] = "1.0"
	s.versions["mcp-timer@1.0"] = endsSaying(t, "ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, where FastMCP was renamed to MCPServer (from mcp.server.mcpserver import MCPServer) and other APIs changed; see the migration guide or pin 'mcp<2' to keep running v1 code.")
	s.runs(t, "", "add", "pypi:mcp-timer", "--yes").expect(t, exitConnection, "", "No module named 'mcp.server.fastmcp'; to mend it: ")
	s.versions["mcp-timer@1.0 with mcp<2"] = self(t, "serve", "time")
	s.runs(t, "", "add", "pypi:mcp-timer", "--yes", "--with", "mcp>1").expect(t, exitConnection, "", "junction add pypi:mcp-timer --with \"mcp>1\" --env")
	out := s.runs(t, "", "add", "pypi:mcp-timer", "--yes", "--env", "A=b")
	out.expect(t, exitOK, `Added "timer"`, "")
	for _, want := range []string{"it is held to mcp<2", `written  uvx --with "mcp<2" mcp-timer==1.0`} {
		if !strings.Contains(strings.Join(strings.Fields(out.stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("not shown is %q: %s", want, out.stdout)
		}
	}
	s.runs(t, "", "call", "timer", "get_current_time", "timezone=UTC", "--frozen").expect(t, exitOK, "UTC", "")
}

func TestWhatDoesNotStartSaysWhatToTry(t *testing.T) {
	ended := func(line string) error {
		return fmt.Errorf("server %q: initialize: expected a response to initialize: its output ended; it exited with status 1; its standard error ends with:\n%s", "x", line)
	}
	scripts := install.Locked{Package: install.Package{Type: "npm", Name: "x"}, WantScripts: []string{"sqlite3@5.1.7"}}
	allowed := scripts
	allowed.Scripts = true
	python := install.Locked{Package: install.Package{Type: "pypi", Name: "x-mcp"}}
	for _, test := range []struct {
		why    string
		locked install.Locked
		err    error
		want   string
	}{
		{"install scripts", scripts, ended("Error: Could not locate the bindings file. Tried:\n → a"), "install scripts did not run, of sqlite3@5.1.7, without which it may lack something: junction add word --scripts runs them"},
		{"scripts that ran", allowed, ended("bye"), "where its author says that it needs arguments or variables: junction add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"the first of several variables", scripts, ended("Error: No configuration found. Set X_ACCESS_TOKEN or X_ACCOUNT_TOKEN, or set X_CONFIG_FILE."), "it wants the variable X_ACCESS_TOKEN: junction add word --env X_ACCESS_TOKEN=…; a secret that junction secret set keeps is given as 'X_ACCESS_TOKEN=${secret:NAME}'"},
		{"a variable in the line behind", scripts, ended("Error: No access token was provided.\nRun `x auth login` first, or pass `--access-token` / `X_ACCESS_TOKEN`.\nUsage: x"), "it wants the variable X_ACCESS_TOKEN: junction add word --env X_ACCESS_TOKEN=…; a secret that junction secret set keeps is given as 'X_ACCESS_TOKEN=${secret:NAME}'"},
		{"a variable farther off", allowed, ended("Error: no\nbye\nset X_COLOR for colours"), "where its author says that it needs arguments or variables: junction add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"an extra", python, ended("it needs its extra:\npip install \"x-mcp[mcp]\""), "it wants an optional part of its package: junction add \"pypi:x-mcp[mcp]\""},
		{"an extra of another", python, ended(`pip install "other[mcp]"`), "where its author says that it needs arguments or variables: junction add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes; where it does not know a dependency that is newer than it: --with 'mcp<2'"},
		{"a file that was left out", scripts, ended("Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/c/node_modules/x/dist/a.js' imported from /c/node_modules/x/dist/b.js"), "its package, or one that it needs, lacks a file, which is for its author to mend: another version may have it, as npm:x@VERSION"},
		{"another way to be reached", scripts, fmt.Errorf("no answer: %w; its standard error ends with:\nhello\n[INFO] HTTP server listening on port 3333", context.DeadlineExceeded), "it serves HTTP as it is started so: see which argument has it use standard input and output, often junction add word -- --stdio"},
		{"a server of HTTP that failed", allowed, ended("running at http://localhost:80\nbye"), "where its author says that it needs arguments or variables: junction add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"another error", allowed, errors.New("no"), "where its author says that it needs arguments or variables: junction add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
	} {
		w := &addition{name: "x", word: "word", locked: &test.locked, program: &install.Program{}}
		if got := w.startRemedy(test.err); got != test.want {
			t.Errorf("%s: %s, want %s", test.why, got, test.want)
		}
	}
}

func TestWhatToTryHasAllThatWasTypedAndNoSecret(t *testing.T) {
	alone(t)
	s := newPackageSet(t)
	s.versions["@x/echo@4.0.0"] = endsSaying(t, "Error: ECHO_KEY is required")
	s.runs(t, "", "add", "npm:@x/echo@4.0.0", "--yes", "--name", "my echo", "--env", "A=hidden", "--env", "B=hidden", "--host", "a.example", "--", "--token", "hidden", "--stdio").
		expect(t, exitConnection, "", `it wants the variable ECHO_KEY: junction add npm:@x/echo@4.0.0 --env A=… --env B=… --host a.example --name "my echo" --env ECHO_KEY=… -- --token "***" --stdio; a secret`)
}

// One that wants a configuration may start without, and have no tools.
func TestAServerThatOffersNothingIsNoted(t *testing.T) {
	w := &addition{name: "x", word: "npm:x", program: &install.Program{}, dry: &dryRun{}}
	w.noteNothing()
	w.dry.refused.add(sandbox.Refusal{What: "look up a.example", Allow: []string{"--host", "a.example"}})
	w.noteNothing()
	w.dry.prompts = 1
	w.noteNothing()
	const want = "it offers nothing as it was started; where its author says that it needs arguments or variables: junction add npm:x --env NAME=VALUE -- ARGUMENT…"
	if got := strings.Join(w.notes, "\n"); got != want+"\n"+want+"; it was refused to look up a.example, which --host a.example allows" {
		t.Errorf("got %s", got)
	}
}

func TestAServerThatServesHTTPIsNotWaitedForAsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		c := &command.Command{Stderr: func(string) { heard++ }}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx, _ = endSoon(ctx, c, new(notAllowed))
		c.Stderr("I am starting")
		time.Sleep(2 * elsewhereTime)
		c.Stderr("Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)")
		c.Stderr("listening on port 3333")
		time.Sleep(elsewhereTime - time.Nanosecond)
		if synctest.Wait(); ctx.Err() != nil || heard != 3 {
			t.Errorf("before: %v, %d lines", ctx.Err(), heard)
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("after: %v", context.Cause(ctx))
		}
	})
}

// A bridge to a host that it may not reach goes on trying.
func TestAServerThatWaitsForAHostItIsRefusedIsNotWaitedForAsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := new(notAllowed)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx, _ = endSoon(ctx, &command.Command{}, refused)
		refused.add(sandbox.Refusal{What: "read /a", Allow: []string{"--read", "/a"}})
		time.Sleep(2 * withoutHostTime)
		if synctest.Wait(); ctx.Err() != nil {
			t.Errorf("after a file: %v", ctx.Err())
		}
		for range 2 {
			refused.add(sandbox.Refusal{What: "look up a.example", Allow: []string{"--host", "a.example"}})
			time.Sleep(withoutHostTime / 2)
		}
		if synctest.Wait(); !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("after a host: %v", context.Cause(ctx))
		}
	})
}

// A program may show a page to people, too; its lists may be long.
func TestAServerThatAnsweredIsWaitedForWhateverItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &command.Command{}
		refused := new(notAllowed)
		ctx, answered := endSoon(t.Context(), c, refused)
		c.Stderr("Web dashboard started at http://127.0.0.1:24282/dashboard/index.html")
		refused.add(sandbox.Refusal{What: "look up a.example", Allow: []string{"--host", "a.example"}})
		answered()
		time.Sleep(2 * withoutHostTime)
		if synctest.Wait(); ctx.Err() != nil {
			t.Errorf("it is not waited for: %v", context.Cause(ctx))
		}
	})
}

func TestARefusalIsNamedOnce(t *testing.T) {
	var refused notAllowed
	for _, folder := range []string{"/h/.x/y", "/h/.x"} {
		refused.add(sandbox.Refusal{What: "keep what it writes to " + folder, Allow: []string{"--write", "/h/.x"}})
		refused.add(sandbox.Refusal{What: "look up ark-ui.com", Allow: []string{"--host", "ark-ui.com"}})
	}
	refused.add(sandbox.Refusal{What: "look up other.example", Allow: []string{"--host", "other.example"}})
	const want = "it was refused to look up ark-ui.com, which --host ark-ui.com allows; it was refused to look up other.example, which --host other.example allows; it was refused to keep what it writes to /h/.x/y, which --write /h/.x allows"
	if got := refused.remedy("nothing"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsAddedSaysWhatItMayNotDo(t *testing.T) {
	w := &addition{name: "x", sandbox: &sandbox.Profile{}}
	for _, want := range []string{"It sees no files of yours, and reaches no host. ", "It sees no files of yours, and reaches no other host. ", "It sees no other files of yours, and reaches no other host. "} {
		if got := w.howToAllow(); !strings.HasPrefix(got, want+"To let it: junction sandbox allow x --read FOLDER, --write FOLDER or --host HOST") {
			t.Errorf("got %s", got)
		}
		w.sandbox = &sandbox.Profile{Hosts: []string{"a.example"}, Read: w.sandbox.Hosts}
	}
}

func TestTheExtrasOfAPackageAreNotInItsName(t *testing.T) {
	alone(t)
	s := newPackageSet(t)
	s.versions["excel-agent-mcp[mcp]@1.0"] = self(t, "serve", "time")
	s.runs(t, "", "add", "pypi:excel-agent-mcp[mcp]@1.0", "--yes").expect(t, exitOK, `Added "excel-agent" to`, "")
}
