package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var printedLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+`)

// consoleOf starts junction with arguments that serve the console, and returns the link that it prints.
func consoleOf(t testing.TB, env []string, arguments ...string) string {
	t.Helper()
	lines, log := start(t, env, append([]string{junction(t)}, arguments...)...)
	within := time.After(30 * time.Second)
	for {
		select {
		case line, open := <-lines:
			if link := printedLink.FindString(line); link != "" {
				return link
			}
			if !open {
				t.Fatalf("%q ended: %s", arguments, log)
			}
		case <-within:
			t.Fatalf("%q prints no link: %s", arguments, log)
		}
	}
}

// inspecting does what a scenario of page/inspector.mjs says at the link of a console. Pictures are kept in $SHOTS.
func inspecting(t *testing.T, scenario, link string, settings any) {
	t.Helper()
	argv := nodeScript(t, "page", "page/inspector.mjs", "page/console.mjs")
	given, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := tryRun(t, nodeEnv(t), append(argv, scenario, program(t, "chromium"), link, string(given))...)
	saw := strings.Count("\n"+stdout, "\nsaw ")
	if err != nil || saw == 0 || strings.Contains(stdout, "FAULT ") {
		t.Errorf("%s: %v, %d things were seen\n%.8000s%.4000s", scenario, err, saw, stdout, stderr)
	}
	t.Logf("%s", stdout)
}

func TestTheInspectorShowsAllOfOurServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ revision, era string }{{modern, "modern"}, {legacyNewest, "legacy"}} {
		t.Run(c.era, func(t *testing.T) {
			link := consoleOf(t, isolated(t), "inspect", "everything", "--revision", c.revision, "--no-browser")
			inspecting(t, "everything", link, object{"revision": c.revision, "era": c.era, "asksURL": c.era == "modern", "second": junction(t) + " serve everything"})
		})
	}
}

// All that it shows has room, is in the language that was chosen, and can be used by everybody, however one looks at it.
func TestTheInspectorIsSoundAtEveryWidthInEveryThemeAndLanguage(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"tools", "calls", "others", "history"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			inspecting(t, "rooms", consoleOf(t, isolated(t), "inspect", "everything", "--no-browser"), object{"part": part})
		})
	}
}

func TestTheInspectorShowsRealServers(t *testing.T) {
	t.Parallel()
	for _, s := range realServers(t)[:3] {
		t.Run(s.name, func(t *testing.T) {
			link := consoleOf(t, isolated(t), append([]string{"inspect", "--no-browser", "--"}, s.argv(t)...)...)
			settings := object{"tools": s.tools, "tool": s.tool, "arguments": s.arguments(t), "want": s.want, "resource": s.resource, "prompt": s.prompt, "promptArgument": s.promptArg}
			if s.name == "everything" { // the official server, which has tasks of 2025-11-25
				settings["task"], settings["taskArguments"], settings["taskWant"] = "simulate-research-query", object{"topic": "tea"}, "Research Report: tea"
			}
			inspecting(t, "real", link, settings)
		})
	}
}

func TestTheInspectorSaysWhyAServerFails(t *testing.T) {
	t.Parallel()
	link := consoleOf(t, isolated(t), "console", "--no-browser")
	inspecting(t, "failing", link, object{"faults": [][]string{
		{"no-such-program-anywhere --flag", "no-such-program-anywhere"},
		{"http://" + freeAddress(t) + "/mcp", "refused"},
		{program(t, "false"), "ended"},
	}})
}

// What another page began is there as soon as somebody goes to it.
func TestInspectorShowsServersOfOtherPages(t *testing.T) {
	t.Parallel()
	link := consoleOf(t, isolated(t), "console", "--no-browser")
	inspecting(t, "elsewhere", link, object{"server": object{"command": junction(t), "args": []string{"serve", "everything"}}})
}

func TestTheInspectorLogsInStepByStep(t *testing.T) {
	t.Parallel()
	issuer := localLogins(t, 15*time.Minute)
	link := consoleOf(t, isolated(t), "inspect", issuer+"/mcp", "--no-browser")
	inspecting(t, "authorization", link, object{"user": "ann", "password": loginPassword})
}

// A server whose every text is one of page/payloads.json, which other views' tests can use, too.
func TestNothingThatAServerWroteRunsInTheInspector(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("page", "payloads.json"))
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	if err := json.Unmarshal(data, &payloads); err != nil || len(payloads) < 60 {
		t.Fatalf("%d payloads, %v", len(payloads), err)
	}
	server := nodeScript(t, "page", "page/inspector_hostile.mjs", "page/payloads.json")
	for _, kinds := range [][]string{{"tools"}, {"resources", "templates", "prompts"}} {
		t.Run(kinds[0], func(t *testing.T) {
			link := consoleOf(t, isolated(t), append([]string{"inspect", "--no-browser", "--"}, server...)...)
			inspecting(t, "hostile", link, object{"payloads": len(payloads), "kinds": kinds})
		})
	}
}

// A view of an official example of MCP Apps, with the result of the tool that has it.
func TestTheInspectorShowsAnApp(t *testing.T) {
	t.Parallel()
	link := consoleOf(t, isolated(t), "inspect", "--no-browser", "--", node(t), appServer(t, "basic-vanillajs"), "--stdio")
	inspecting(t, "app", link, object{"tool": "get-time"})
}
