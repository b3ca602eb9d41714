package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/process/processtest"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// flawed serves a tool with a note, one with a warning and one with an error, which breaks its output
// schema when it is called with "wrong".
func flawed(t *testing.T) (url string, called *atomic.Int64) {
	t.Helper()
	called = new(atomic.Int64)
	s := mcp.NewServer("flawed", "1")
	s.AddTool(mcp.Tool{Name: "files.list", Description: "Lists files.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}},
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			called.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("none")}}, nil
		})
	s.AddTool(mcp.Tool{Name: "mute", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		called.Add(100)
		return &mcp.CallToolResult{}, nil
	})
	server := httptest.NewServer(streamable.Handler(s))
	t.Cleanup(server.Close)
	return server.URL, called
}

func TestLintExitsByTheGravestFinding(t *testing.T) {
	clitest.Alone(t)
	url, called := flawed(t)
	runs(t, "", "lint", url).expect(t, cli.ExitOK, "0 errors, 1 warning, 1 note; 1 tool called.", "")
	if n := called.Load(); n != 1 {
		t.Errorf("called %d, want the tool that only reads once", n)
	}
	got := runs(t, "", "lint", url, "--fail-on", "warning")
	got.expect(t, cli.ExitToolFailed, "warning: tool mute, description: the model knows only the tool's name (no-description)\n    describe in one to three sentences", "")
	runs(t, "", "lint", url, "--fail-on", "note", "--ignore", "no-description").expect(t, cli.ExitToolFailed, "note: tool files.list, name: ", "")
	runs(t, "", "lint", url, "--fail-on", "note", "--ignore", "no-description:mute", "--ignore", "tool-name:files.list").expect(t, cli.ExitOK, "0 errors, 0 warnings, 0 notes", "")
	runs(t, "", "lint", url, "--fail-on", "warning", "--ignore", "no-description:other").expect(t, cli.ExitToolFailed, "tool mute", "")
	called.Store(0)
	runs(t, "", "lint", url, "--no-call", "--call", `mute={"a":1}`).expect(t, cli.ExitOK, "; 1 tool called.", "")
	runs(t, "", "lint", url, "--no-call", "--call", "nosuch").expect(t, cli.ExitConnection, "; 1 tool called.", "nosuch gave no result")
	runs(t, "", "lint", url, "--no-call", "--call", "nosuch", "--json").expect(t, cli.ExitConnection, `"noResult": [`, "nosuch gave no result")
	if n := called.Load(); n != 100 {
		t.Errorf("called %d, want the tool that was named only", n)
	}
}

func TestLintOfSeveralServersGoesOnAfterOneThatDoesNotStart(t *testing.T) {
	clitest.Alone(t)
	url, _ := flawed(t)
	got := runs(t, "", "lint", "http://127.0.0.1:1/mcp", url, "--json")
	if got.code != cli.ExitConnection || !strings.Contains(got.stderr, "127.0.0.1:1") {
		t.Fatalf("%+v", got)
	}
	var all struct {
		Servers []struct {
			Server   string
			Findings []lint.Finding
			Called   []string
			Error    *struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if len(all.Servers) != 2 || all.Servers[0].Error == nil || len(all.Servers[0].Findings) != 0 {
		t.Fatalf("%+v", all)
	}
	second := all.Servers[1]
	if second.Error != nil || second.Server != url || !slices.Equal(second.Called, []string{"files.list"}) || len(second.Findings) != 2 ||
		second.Findings[0].Rule != lint.NoDescription || second.Findings[0].Severity != lint.Warning || second.Findings[0].Name != "mute" {
		t.Errorf("%+v", second)
	}
	runs(t, "", "lint", url, "http://127.0.0.1:1/mcp").expect(t, cli.ExitConnection, "━━ "+url+"\n", "127.0.0.1:1")
}

func TestLintReportsInvalidLines(t *testing.T) {
	clitest.Alone(t)
	if os.PathSeparator == '\\' {
		t.Skip("a script of a shell")
	}
	script := filepath.Join(t.TempDir(), "server")
	processtest.WriteProgram(t, script, []byte("#!/bin/sh\necho up and running\nexec \"$0.real\" serve everything\n"), 0o700)
	if err := os.Symlink(self(t)[0], script+".real"); err != nil {
		t.Skip(err)
	}
	got := runs(t, "", "lint", "--no-call", "--", script)
	got.expect(t, cli.ExitToolFailed, "error: server: the server wrote something that is not a message; it was skipped, line up and running", "")
	if strings.Contains(got.stderr, cli.LevelPrefix(slog.LevelDebug)) || strings.Contains(got.stderr, "level=") {
		t.Errorf("what is at debug level is shown: %s", got.stderr)
	}
}

func TestLintRefusesACommandLineThatIsWrong(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"lint"}, "SERVER is missing"},
		{[]string{"lint", "everything", "--fail-on", "fatal"}, `--fail-on: expected note, warning or error, got "fatal"`},
		{[]string{"lint", "everything", "--call", "add={"}, "--call add: expected a JSON object after the =: "},
		{[]string{"lint", "everything", "filesystem", "--call", "add"}, "--call is for one server, so name one only"},
		{[]string{"lint", "everything", "--ignore", "sizes"}, `--ignore: there is no rule "sizes"; docs/lint.md has them all`},
		{[]string{"lint", "everything", "--", "echo"}, `name either servers, or the command of one after "--"`},
	} {
		got := runs(t, "", test.args...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%q: %+v, want %q", test.args, got, test.want)
		}
	}
	runs(t, "", "lint", "nothing-here").expect(t, cli.ExitConnection, "", `no server is called "nothing-here"`)
}

func TestLintOffersCapabilities(t *testing.T) {
	clitest.Alone(t)
	s := mcp.NewServer("asks", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "folders", Description: "Says where it may work.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(ctx context.Context, _ struct{}) (int, error) {
		roots, err := mcp.Roots(ctx)
		return len(roots), err
	})
	mcp.AddToolWith(s, mcp.Tool{Name: "summary", Description: "Says what there is.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 1})
		return "", err
	})
	server := httptest.NewServer(streamable.Handler(s))
	defer server.Close()
	got := runs(t, "", "lint", server.URL)
	got.expect(t, cli.ExitOK, "0 errors, 0 warnings, 0 notes; 2 tools called.", "the result of summary was not checked: it needs a client with features that lint lacks")
	if strings.Contains(got.stderr, "folders") {
		t.Errorf("it has no roots: %s", got.stderr)
	}
}
