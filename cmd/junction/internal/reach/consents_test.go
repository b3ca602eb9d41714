package reach_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
)

func TestProjectsServersAreAskedAboutOnceInOneList(t *testing.T) {
	clitest.Alone(t)
	const three = `{"mcpServers":{"a":{"command":"run-a","env":{"A":"${TOKEN}"}},"b":{"command":"run-b"},"c":{"command":"run-c"}}}`
	clitest.Write(t, map[string]string{".git/HEAD": ""})
	clitest.Write(t, map[string]string{".mcp.json": three})
	// agreed are the servers that may be started, after this was typed, and what was shown.
	agreed := func(typed string, names ...string) (string, string) {
		t.Helper()
		a, seen := clitest.Asking(t, typed)
		if typed == "" {
			a.Person = nil
		}
		_, entries, err := reach.ConfiguredServers(a)
		if err != nil {
			t.Fatal(err)
		}
		if names != nil {
			entries = slices.DeleteFunc(entries, func(e launch.Entry) bool { return !slices.Contains(names, e.Name) })
		}
		var may []string
		for i, fault := range a.Launch.Consents(t.Context(), entries, names != nil) {
			if fault == nil {
				may = append(may, entries[i].Name)
			}
		}
		return strings.Join(may, " "), seen.String()
	}
	if got, seen := agreed("\n"); got != "" || strings.Count(seen, "defines:") != 1 || strings.Count(seen, "Use them?") != 1 ||
		!strings.Contains(seen, "  1  a (stdio): run-a A=***\n       which is not confined\n       It receives: TOKEN\n  2  b (stdio): run-b\n       which is not confined\n") {
		t.Errorf("Enter alone: %q\n%s", got, seen)
	}
	if got, seen := agreed("yes\n9\n\n"); got != "" || strings.Count(seen, "Use them?") != 3 || !strings.Contains(seen, "“9” is none of these") {
		t.Errorf("what is no answer: %q\n%s", got, seen)
	}
	if got, seen := agreed("1, 3\n"); got != "a c" || !strings.Contains(seen, "Use them?") {
		t.Errorf("some of them: %q\n%s", got, seen)
	}
	if got, seen := agreed("a\n"); got != "a c" || seen != "" {
		t.Errorf("the next time: %q\n%s", got, seen)
	}
	if got, _ := agreed(""); got != "a c" {
		t.Errorf("where nobody is there: %q", got)
	}
	if got, seen := agreed("y\n", "b"); got != "b" || !strings.Contains(seen, "run-b\n    which is not confined\nUse it?") {
		t.Errorf("the refused one by its name: %q\n%s", got, seen)
	}
	if got, _ := agreed(""); got != "a b c" {
		t.Errorf("after that: %q", got)
	}
	clitest.Write(t, map[string]string{".mcp.json": strings.ReplaceAll(three, "run", "walk")})
	if got, seen := agreed("n\n"); got != "" || strings.Count(seen, "Use them?") != 1 {
		t.Errorf("none of three others: %q\n%s", got, seen)
	}
	if got, seen := agreed("a\n"); got != "" || seen != "" {
		t.Errorf("the next time: %q\n%s", got, seen)
	}
	if got, seen := agreed("1\n", "b", "c"); got != "b" || !strings.Contains(seen, "1  b (stdio): walk-b\n       which is not confined\n  2  c (stdio): walk-c\n       which is not confined\nUse them?") {
		t.Errorf("two refused ones by their names: %q\n%s", got, seen)
	}
	if got, seen := agreed("n\n", "c"); got != "" || !strings.Contains(seen, "Use it?") {
		t.Errorf("the one that was refused again: %q\n%s", got, seen)
	}
	clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{"a":{"command":"skip-a"}}}`})
	if got, seen := agreed("n\n"); got != "" || !strings.Contains(seen, "Use it?") {
		t.Errorf("the only one of its file: %q\n%s", got, seen)
	}
	if got, seen := agreed("y\n"); got != "" || seen != "" {
		t.Errorf("that one, which nobody named, the next time: %q\n%s", got, seen)
	}
	clitest.Write(t, map[string]string{".mcp.json": three})
	clitest.Write(t, map[string]string{".mcp.json": strings.Replace(three, "${TOKEN}", "--require=./evil.js", 1)})
	if got, seen := agreed("\n"); got != "b c" || !strings.Contains(seen, "Use it?") || strings.Contains(seen, "run-b") {
		t.Errorf("another entry: %q\n%s", got, seen)
	}
	clitest.Write(t, map[string]string{"sub/.mcp.json": three})
	clitest.Chdir(t, "sub")
	if got, _ := agreed(""); got != "" {
		t.Errorf("the same text in another folder: %q", got)
	}
}

// An answering reader gives an answer when it is read.
type answering func() string

func (f answering) Read(p []byte) (int, error) { return copy(p, f()), nil }

func TestTheFileThatIsToBeNamedIsQuotedForAShell(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"a project/.mcp.json": `{"mcpServers":{"a":{"command":"run-a"}}}`})
	path, err := clitest.PlaceOf(t).Abs("a project/.mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(path, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}})
	faults := a.Launch.Consents(t.Context(), []launch.Entry{{Name: "a", Definition: file.Servers[0]}}, true)
	if want := "name it: --config " + plaintext.ShellWord(file.Path); len(faults) != 1 || faults[0] == nil || !strings.HasSuffix(faults[0].Error(), want) || plaintext.ShellWord(file.Path) == file.Path {
		t.Errorf("%v, want %s", faults, want)
	}
}

func TestStatusShowsTheQuestionOfTheTerminal(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a"},"b":{"command":"run-b"}}}`})
	a, _ := clitest.Asking(t, "")
	awaited := ""
	a.Person = terminal.NewPerson(answering(func() string {
		awaited = *a.Awaited.Load()
		return "none\n"
	}), a.Screen)
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	a.Launch.Consents(t.Context(), entries, false)
	if want := "whether a, b may be started"; awaited != want || a.Awaited.Load() != nil {
		t.Errorf("while it asks: %q, want %q; afterwards %v", awaited, want, a.Awaited.Load())
	}
	i := cli.Instance{Awaited: awaited}
	if got, want := i.Remarks()[0], "The configuration changed, and its terminal asks whether a, b may be started; the earlier servers keep running until you answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConsentCoversTheEntryThatWasShown(t *testing.T) {
	clitest.Alone(t)
	const shown = `"a":{"command":"run-a","args":["--quiet"]}`
	clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{` + shown + `}}`})
	a, _ := clitest.Asking(t, "y\n")
	_, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{"a":{"command":"evil"}}}`})
	if err := a.Launch.Consent(t.Context(), entries[0]); err != nil {
		t.Errorf("what was shown may be started: %v", err)
	}
	for _, test := range []struct {
		name, servers string
		may           bool
	}{
		{"what came meanwhile", `"a":{"command":"evil"}`, false},
		{"other arguments", `"a":{"command":"run-a","args":["--quiet","--eval=1"]}`, false},
		{"one more argument, which is empty", `"a":{"command":"run-a","args":["--quiet",""]}`, false},
		{"an environment", `"a":{"command":"run-a","args":["--quiet"],"env":{"NODE_OPTIONS":"--require=evil"}}`, false},
		{"another name", `"b":{"command":"run-a","args":["--quiet"]}`, false},
		{"what was shown", shown, true},
		{"what was shown, and a new one", shown + `,"b":{"command":"run-b"}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{` + test.servers + `}}`})
			a, _ := clitest.Asking(t, "")
			_, entries, err := reach.ConfiguredServers(a)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Launch.Consent(t.Context(), entries[0]); (err == nil) != test.may {
				t.Error(err)
			}
		})
	}
}

// The person sees where a server runs and what else is in its environment, and is asked
// again when that changed.
func TestConsentCoversTheEnvironmentFile(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{".git/HEAD": "", "one.env": "A=1\n", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a","cwd":"${DIR:-sub}","envFile":"one.env"}}}`})
	agreed := func(typed string) (bool, string) {
		t.Helper()
		a, seen := clitest.Asking(t, typed)
		_, entries, err := reach.ConfiguredServers(a)
		if err != nil {
			t.Fatal(err)
		}
		return a.Launch.Consent(t.Context(), entries[0]) == nil, seen.String()
	}
	if ok, seen := agreed("y\n"); !ok || !strings.Contains(seen, "a (stdio): run-a (cwd ${DIR:-***}) (envFile one.env)\n") {
		t.Errorf("agreed: %v\n%s", ok, seen)
	}
	if ok, seen := agreed(""); !ok || seen != "" {
		t.Errorf("the next time: %v\n%s", ok, seen)
	}
	clitest.Write(t, map[string]string{"one.env": "A=2\n"})
	if ok, seen := agreed("\n"); ok || !strings.Contains(seen, "Use it?") {
		t.Errorf("with another environment: %v\n%s", ok, seen)
	}
}
