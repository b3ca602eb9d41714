package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// exits runs a command line whose exit code must be this one, and returns what it printed.
func exits(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), clitest.PlaceOf(t), args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("junction %q: exit code %d, want %d\n%s%s", args, got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// Each command that can record: what was recorded answers in the place of its servers.
func TestRecordingsAreServed(t *testing.T) {
	clitest.Alone(t)
	for _, test := range []struct {
		name   string
		record []string
		tool   string
		server string // of which the replay is
	}{
		{"call", []string{"call", "everything", "add", "a=2", "b=40", "--record", "file.jsonl"}, "add", ""},
		{"proxy", append([]string{"call", "add", "a=2", "b=40", "--"}, self(t, "proxy", "--record", "file.jsonl", "everything")...), "add", ""},
		{"up", append([]string{"call", "everything__add", "a=2", "b=40", "--"}, self(t, "up", "--stdio", "--tools", "all", "--record", "file.jsonl")...), "everything__add", "junction"},
		{"chat", []string{"chat", "-p", "add 2 and 40", "everything", "--record", "file.jsonl"}, "add", "everything"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.Chdir(t, t.TempDir())
			exits(t, cli.ExitOK, test.record...)
			replay := self(t, "replay", "file.jsonl")
			if test.server != "" {
				replay = append(replay, "--server", test.server)
			}
			out, _ := exits(t, cli.ExitOK, append([]string{"call", test.tool, "--args", `{"b":40,"a":2}`, "--"}, replay...)...)
			if out != "{\"sum\":42}\n" {
				t.Errorf("the replay says %q", out)
			}
			if info, err := os.Stat(clitest.In(t, "file.jsonl")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("the file is %v, %v", info, err)
			}
		})
	}
}

func TestProfilesAreRecordedAsServers(t *testing.T) {
	clitest.Alone(t)
	settings := `{"mcpServers": {"everything": {"command": "` + filepath.ToSlash(self(t)[0]) + `", "args": ["serve", "everything"]}}, "junction": {"profiles": {"work": {"servers": ["everything"]}}}}`
	if err := os.WriteFile(clitest.In(t, "junction.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	up := self(t, "up", "--stdio", "--tools", "all", "--config", "junction.json", "--profile", "work", "--record", "file.jsonl")
	exits(t, cli.ExitOK, append([]string{"call", "everything__add", "a=2", "b=40", "--"}, up...)...)
	_, stderr := exits(t, cli.ExitConnection, "replay", "--server", "junction", "file.jsonl")
	if !strings.Contains(stderr, `the recording has no server "junction"; it has ["profile work"]`) {
		t.Errorf("it says %s", stderr)
	}
}

func TestRecordReplacesOnlyRecordings(t *testing.T) {
	inFolder(t)
	if err := os.WriteFile(clitest.In(t, "mine.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(clitest.In(t, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := filelock.Try(clitest.In(t, "held.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for file, want := range map[string]string{
		"mine.txt":         "mine.txt exists, is not a recording, and is not replaced",
		"folder":           "folder is not a file; for a folder with a file for each run, end it with a slash",
		"held.jsonl":       "another process records to held.jsonl; name a folder (DIR/) for a file of each",
		"nowhere/at.jsonl": "nowhere",
	} {
		if _, stderr := exits(t, cli.ExitConnection, "call", "everything", "add", "a=1", "b=2", "--record", file); !strings.Contains(stderr, want) {
			t.Errorf("%s: it says %s, want %s", file, stderr, want)
		}
	}
	if text, err := os.ReadFile(clitest.In(t, "mine.txt")); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q, %v", text, err)
	}
	for range 2 { // a recording is replaced, and a folder gets one file more
		exits(t, cli.ExitOK, "call", "everything", "add", "a=1", "b=2", "--record", "again.jsonl")
	}
	if text, err := os.ReadFile(clitest.In(t, "again.jsonl")); err != nil || strings.Count(string(text), `{"recording":1,`) != 1 {
		t.Errorf("the file has %s, %v", text, err)
	}
	if _, stderr := exits(t, cli.ExitOK, "call", "everything", "add", "a=1", "b=2", "--record", "new/"); !strings.HasPrefix(stderr, "Recording to ") {
		t.Errorf("it says %s", stderr)
	}
	if files, _ := filepath.Glob(clitest.In(t, "new/junction-*.jsonl")); len(files) != 1 {
		t.Errorf("the folder has %q", files)
	}
}

// A server says back what it was sent with: no recording has it.
func TestSecretsOfACommandGetIntoNoRecording(t *testing.T) {
	clitest.Alone(t)
	var sent http.Header
	s := mcp.NewServer("parrot", "1")
	mcp.AddTool(s, "parrot", func(context.Context, struct{}) (string, error) {
		return sent.Get("X-Api-Key") + " " + sent.Get("Authorization") + " " + clitest.PlaceOf(t).Getenv("PARROT_PASSWORD"), nil
	})
	endpoint := streamable.Handler(s)
	defer endpoint.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		endpoint.ServeHTTP(w, r)
	}))
	defer server.Close()
	clitest.Setenv(t, "PARROT_PASSWORD", "planted-4711")
	clitest.Setenv(t, "PARROT_TOKEN", "planted-4712")
	config := `{"mcpServers": {"parrot": {"url": "` + server.URL + `", "headers": {"X-Api-Key": "planted-4713", "Authorization": "Bearer ${PARROT_TOKEN}"}}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exits(t, cli.ExitOK, "call", "--config", "mcp.json", "parrot", "parrot", "--record", "file.jsonl")
	if out != "planted-4713 Bearer planted-4712 planted-4711\n" {
		t.Fatalf("the server says %q", out)
	}
	text, err := os.ReadFile(clitest.In(t, "file.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("planted")) || bytes.Count(text, []byte("{{secret-")) != 3 {
		t.Errorf("the recording has\n%s", text)
	}
	out, _ = exits(t, cli.ExitOK, append([]string{"call", "parrot", "--"}, self(t, "replay", "file.jsonl")...)...)
	if strings.Contains(out, "planted") || strings.Count(out, "{{secret-") != 3 {
		t.Errorf("the replay says %q", out)
	}
}

// The file of a proxy that is killed can be read, and has all that the client got.
func TestAProxyThatIsKilledLeavesAReadableFile(t *testing.T) {
	clitest.Alone(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := self(t, "proxy", "--record", "file.jsonl", "everything")
	proxy := child(t, argv[0], argv[1:]...)
	in, err := proxy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := proxy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	client, err := mcp.Dial(ctx, stream.Over(pipes{stdout, in}, "the proxy"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CallTool(ctx, "add", map[string]int{"a": 2, "b": 40}); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = proxy.Wait()
	out, _ := exits(t, cli.ExitOK, append([]string{"call", "add", "--args", `{"a":2,"b":40}`, "--"}, self(t, "replay", "file.jsonl")...)...)
	if out != "{\"sum\":42}\n" {
		t.Errorf("the replay says %q", out)
	}
}

// pipes are the standard input and output of a program.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

// Close closes both.
func (p pipes) Close() error { return errors.Join(p.WriteCloser.Close(), p.ReadCloser.Close()) }
