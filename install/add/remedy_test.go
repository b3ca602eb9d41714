package add

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

func TestFailedStartNamesRemedy(t *testing.T) {
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
		{"install scripts", scripts, ended("Error: Could not locate the bindings file. Tried:\n → a"), "install scripts of sqlite3@5.1.7 did not run, so it may lack something: junction server add word --scripts runs them"},
		{"scripts that ran", allowed, ended("bye"), "if its author documents arguments or variables: junction server add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"the first of several variables", scripts, ended("Error: No configuration found. Set X_ACCESS_TOKEN or X_ACCOUNT_TOKEN, or set X_CONFIG_FILE."), "the server needs the environment variable X_ACCESS_TOKEN: junction server add word --env X_ACCESS_TOKEN=…; for a secret that junction secret set keeps, write 'X_ACCESS_TOKEN=${secret:NAME}'"},
		{"a variable in the line behind", scripts, ended("Error: No access token was provided.\nRun `x auth login` first, or pass `--access-token` / `X_ACCESS_TOKEN`.\nUsage: x"), "the server needs the environment variable X_ACCESS_TOKEN: junction server add word --env X_ACCESS_TOKEN=…; for a secret that junction secret set keeps, write 'X_ACCESS_TOKEN=${secret:NAME}'"},
		{"a variable farther off", allowed, ended("Error: no\nbye\nset X_COLOR for colours"), "if its author documents arguments or variables: junction server add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"an extra", python, ended("it needs its extra:\npip install \"x-mcp[mcp]\""), "it needs an optional part of its package: junction server add \"pypi:x-mcp[mcp]\""},
		{"an extra of another", python, ended(`pip install "other[mcp]"`), "if its author documents arguments or variables: junction server add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes; if a dependency is too new for it: --with 'mcp<2'"},
		{"a file that was left out", scripts, ended("Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/c/node_modules/x/dist/a.js' imported from /c/node_modules/x/dist/b.js"), "its package, or one that it needs, lacks a file, which its author must fix: another version may have it, such as npm:x@VERSION"},
		{"another way to be reached", scripts, fmt.Errorf("no answer: %w; its standard error ends with:\nhello\n[INFO] HTTP server listening on port 3333", context.DeadlineExceeded), "started this way, it serves HTTP: find the argument that makes it use standard input and output; often this works: junction server add word -- --stdio"},
		{"a server of HTTP that failed", allowed, ended("running at http://localhost:80\nbye"), "if its author documents arguments or variables: junction server add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
		{"another error", allowed, errors.New("no"), "if its author documents arguments or variables: junction server add word --env NAME=VALUE -- ARGUMENT…; --verbose shows all that it writes"},
	} {
		w := &addition{Adder: adder(t), name: "x", argument: "word", locked: &test.locked, program: &install.Program{}}
		if got := w.startRemedy(test.err); got != test.want {
			t.Errorf("%s: %s, want %s", test.why, got, test.want)
		}
	}
}

// A server that needs a configuration may start without it, and have no tools.
func TestEmptyServerIsNoted(t *testing.T) {
	w := &addition{Adder: adder(t), name: "x", argument: "npm:x", program: &install.Program{}, dry: &dryRun{}}
	w.noteNothing()
	w.dry.refused.add(sandbox.Refusal{What: "look up a.example", Allow: []string{"--host", "a.example"}})
	w.noteNothing()
	w.dry.prompts = 1
	w.noteNothing()
	const want = "it offers nothing when started this way; if its author documents arguments or variables: junction server add npm:x --env NAME=VALUE -- ARGUMENT…"
	if got := strings.Join(w.notes, "\n"); got != want+"\n"+want+"; it was refused to look up a.example, which --host a.example allows" {
		t.Errorf("got %s", got)
	}
}

func TestHTTPServerShortensWait(t *testing.T) {
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

// A bridge keeps trying to reach a host that it may not reach.
func TestRefusedHostShortensWait(t *testing.T) {
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

// A program may also serve a page to users, and its lists may be long.
func TestAnsweringServerKeepsWholeWait(t *testing.T) {
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

func TestRefusalIsNamedOnce(t *testing.T) {
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

func TestAddedServerListsItsLimits(t *testing.T) {
	w := &addition{Adder: adder(t), name: "x", sandbox: &sandbox.Profile{}}
	for _, want := range []string{"It can read no files of yours, and reaches no host. ", "It can read no files of yours, and reaches no other host. ", "It can read no other files of yours, and reaches no other host. "} {
		if got := w.howToAllow(); !strings.HasPrefix(got, want+"To allow more: junction server sandbox allow x --read FOLDER, --write FOLDER or --host HOST") {
			t.Errorf("got %s", got)
		}
		w.sandbox = &sandbox.Profile{Hosts: []string{"a.example"}, Read: w.sandbox.Hosts}
	}
}

// A confined program chooses the names in refusals, and a user pastes the flags for them.
func TestAllowingFlagIsOneWord(t *testing.T) {
	refused := notAllowed{all: []sandbox.Refusal{{What: "look up x", Allow: []string{"--host", "$(echo evil)"}}}}
	if got, want := refused.remedy(""), "it was refused to look up x, which --host '$(echo evil)' allows"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
