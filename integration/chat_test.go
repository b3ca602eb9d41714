package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

// chatTime is how long a chat may take on a machine with much else to do.
const chatTime = 3 * time.Minute

// A chat is how one person starts `junction chat`: a folder of the person's own, a
// configuration, and a model that plays a recording.
type chat struct {
	home string
	env  []string
	args []string // behind "chat"
}

// newChat is a chat with the servers, and with a model at an endpoint of this process.
func newChat(t testing.TB, servers map[string][]string, recording []replay.Turn, args ...string) *chat {
	t.Helper()
	c := &chat{home: t.TempDir()}
	c.env = append(os.Environ(), "HOME="+c.home, "XDG_CONFIG_HOME="+c.home, "XDG_CACHE_HOME="+c.home, "XDG_STATE_HOME="+c.home,
		"XDG_DATA_HOME="+c.home, "JUNCTION_STATE="+filepath.Join(c.home, "state"), "JUNCTION_MODEL=", "LANG=C.UTF-8")
	c.args = args
	if servers != nil {
		c.args = append([]string{"--config", configured(t, servers)}, args...)
	}
	if recording != nil {
		c.args = append(c.args, "--base-url", modelEndpoint(t, recording)+"/v1", "--model", "recorded")
	}
	return c
}

// configured writes a configuration file with servers that are started by a command.
func configured(t testing.TB, servers map[string][]string) string {
	t.Helper()
	entries := map[string]any{}
	for name, argv := range servers {
		entries[name] = map[string]any{"command": argv[0], "args": argv[1:]}
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(encode(t, map[string]any{"mcpServers": entries})), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// saying is an answer with what a pattern finds in the last result: its group, or all of
// it.
func saying(format, pattern string) func(results []string) replay.Turn {
	return func(results []string) replay.Turn {
		found := regexp.MustCompile(pattern).FindStringSubmatch(results[len(results)-1])
		if found == nil {
			found = []string{"nothing like " + pattern}
		}
		return replay.Turn{Text: fmt.Sprintf(format, found[len(found)-1])}
	}
}

// asked and returned are what a request must hold where a person or a tool spoke last.
func asked(texts ...string) replay.Expect { return replay.Expect{Last: "user", Contains: texts} }

func returned(texts ...string) replay.Expect { return replay.Expect{Last: "tool", Contains: texts} }

// callOf is one call in a recording.
func callOf(tool string, arguments any) []replay.Call {
	return []replay.Call{{Name: tool, Arguments: arguments}}
}

type object = map[string]any

// modelEndpoint plays a recording at a URL, over chat completions and Anthropic's messages.
func modelEndpoint(t testing.TB, recording []replay.Turn) string {
	t.Helper()
	server := httptest.NewServer(replay.Handler(recording...))
	t.Cleanup(server.Close)
	return server.URL
}

// ask asks one question, as in a script, and returns what was printed and the exit code.
func (c *chat) ask(t testing.TB, question string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), chatTime)
	defer cancel()
	command := c.command(ctx, t, append(more, "-p", question)...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("junction chat: %v\nstdout: %.2000s\nstderr: %.4000s", err, &out, &log)
	}
	return out.String(), log.String(), command.ProcessState.ExitCode()
}

// command is `junction chat` in the person's folder.
func (c *chat) command(ctx context.Context, t testing.TB, more ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, junction(t), append(append([]string{"chat"}, c.args...), more...)...)
	inGroup(command)
	command.Env, command.Dir = c.env, c.home
	return command
}

// An event is a line of --json, as far as these tests look at it.
type event struct {
	Listed *struct {
		Native  int `json:"native"`
		Servers []struct{ Server, State string }
	} `json:"listed"`
	Asked   *struct{ Messages, Tools int } `json:"asked"`
	Decided *struct{ Stop string }         `json:"decided"`
	Consent *struct {
		Server, Tool, By string
		Allowed          bool
	} `json:"consent"`
	Called *struct {
		Server, Tool string
		Arguments    json.RawMessage
	} `json:"called"`
	Returned *struct {
		Server, Tool, Text string
		IsError            bool
	} `json:"returned"`
	Answered *struct {
		Text, Stop, Error string
		Totals            struct{ Requests, Calls, Asked int }
	} `json:"answered"`
}

// events reads what --json prints: every line is one.
func events(t testing.TB, stdout string) []event {
	t.Helper()
	var all []event
	for line := range strings.Lines(stdout) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in the line %.500q", err, line)
		}
		all = append(all, e)
	}
	return all
}

// steps names the events that are one of the seven steps, in their order.
func steps(all []event) []string {
	var names []string
	for _, e := range all {
		switch {
		case e.Listed != nil:
			names = append(names, "list")
		case e.Asked != nil:
			names = append(names, "ask")
		case e.Decided != nil:
			names = append(names, "decide")
		case e.Called != nil:
			names = append(names, "call")
		case e.Returned != nil:
			names = append(names, "result")
		case e.Answered != nil:
			names = append(names, "answer")
		}
	}
	return names
}
