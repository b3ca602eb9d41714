//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/replay"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// works is a server whose tool runs as a task until proceed is closed.
func works(t *testing.T) (url string, called, proceed chan struct{}) {
	t.Helper()
	called, proceed = make(chan struct{}, 10), make(chan struct{})
	s := mcp.NewServer("works", "1")
	mcp.AddTool(s, "dig", func(ctx context.Context, _ struct{}) (string, error) {
		called <- struct{}{}
		select {
		case <-proceed:
			return "a pot of gold", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}, Poll: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := streamable.Handler(long.Middleware()(s))
	server := httptest.NewServer(endpoint)
	t.Cleanup(func() { long.Close(); server.Close(); endpoint.Close() })
	return server.URL, called, proceed
}

// digger is a model that has the tool called, and reads what came of it when it is asked for.
func digger(t *testing.T) (base string, last func() string) {
	t.Helper()
	player := replay.HandlerFunc(func(role, text string) replay.Turn {
		switch {
		case role == "tool" && strings.Contains(text, "a pot of gold"):
			return replay.Turn{Text: "It is gold."}
		case role == "user" && strings.Contains(text, "dig for me"):
			return replay.Turn{Calls: []replay.Call{{Name: "works__dig", Arguments: map[string]any{}}}}
		case role == "user" && strings.Contains(text, "what was found?"):
			return replay.Turn{Calls: []replay.Call{{Name: "read_resource", Arguments: map[string]string{"uri": "junction://result/1"}}}}
		}
		return replay.Turn{Text: "So it is."}
	})
	var mu sync.Mutex
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, _ := io.ReadAll(r.Body)
		mu.Lock()
		body = read
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(read))
		player.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func() string {
		mu.Lock()
		defer mu.Unlock()
		return string(body)
	}
}

// upServing starts junction up with a configuration, and returns its endpoint.
func upServing(t *testing.T, config string) (url string) {
	t.Helper()
	argv := self(t, "up", "--http", "127.0.0.1:0", "--config", config)
	cmd := child(t, argv[0], argv[1:]...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for url == "" && lines.Scan() {
		url = address.FindString(lines.Text())
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
		}
	})
	t.Cleanup(func() { _ = cmd.Process.Kill(); reading.Wait(); _ = cmd.Wait() })
	return url
}

// lastTask is the id of the last task that was recorded.
func lastTask(t *testing.T) (id string) {
	t.Helper()
	a, err := archive.Open(t.Context(), filepath.Join(clitest.PlaceOf(t).Getenv("JUNCTION_STATE"), "conversations.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, entries, err := a.Load(t.Context(), archive.Last)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Task != nil && e.Task.Began != nil {
			id = e.Task.Began.ID
		}
	}
	return id
}

// junction chat is killed in the middle of a task, and the next one has its result, once: of a server in either form of
// tasks, and behind junction up.
func TestAChatThatIsKilledGoesOnWithItsTask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		with []string
		up   bool
	}{
		{"a server", []string{"works", "--trust", "works"}, false},
		{"a server of 2025-11-25", []string{"works", "--trust", "works", "--revision", "2025-11-25"}, false},
		{"a server behind junction up", []string{"--trust", "junction"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.NoState(t)
			clitest.WithoutKeys(t)
			url, called, proceed := works(t)
			base, last := digger(t)
			config := configuration(t, map[string]any{"works": map[string]any{"url": url}})
			if test.up {
				url = upServing(t, config)
				test.with = append(test.with, "--up="+url)
			}
			args := append([]string{"chat", "--model", "m", "--base-url", base, "--config", config, "--allow", "works/dig"}, test.with...)

			argv := self(t, append(args, "-p", "dig for me")...)
			cmd := child(t, argv[0], argv[1:]...)
			var stderr clitest.SafeBuffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test ends before it does
			waitFor(t, "the tool is called", func() bool { return len(called) > 0 })
			<-called
			waitFor(t, "the call is a task", func() bool { return strings.Contains(stderr.String(), "works/dig: runs as task 1 of its server") })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()

			args = append(args, "--resume")
			got := runs(t, "", append(args, "-p", "is it there?")...)
			if got.code != cli.ExitOK || got.stdout != "So it is.\n" || !strings.Contains(got.stderr, "works/dig: task 1: it is waited for") {
				t.Errorf("while it runs: %+v", got)
			}
			if strings.Count(last(), "It went on as task 1 of its server") != 1 || strings.Contains(last(), "a pot of gold") {
				t.Errorf("while it runs the model was asked %s", last())
			}
			close(proceed)
			knows, err := mcp.DialWith(t.Context(), streamable.Client(url), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
			if err != nil {
				t.Fatal(err)
			}
			defer knows.Close()
			if _, err := tasks.Resume(knows, lastTask(t)).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = runs(t, "", append(args, "-p", "what was found?")...)
			if got.code != cli.ExitOK || got.stdout != "It is gold.\n" || strings.Count(got.stderr, "works/dig: task 1 is over: a pot of gold") != 1 {
				t.Errorf("when it was over: %+v", got)
			}
			got = runs(t, "", append(args, "-p", "is that all?")...)
			if got.code != cli.ExitOK || strings.Contains(got.stderr, "task 1") {
				t.Errorf("after that: %+v", got)
			}
			if asked := last(); strings.Count(asked, "continued as task 1 is over") != 1 || strings.Count(asked, "a pot of gold") != 1 {
				t.Errorf("after that the model was asked %s", asked)
			}
			if len(called) != 0 {
				t.Error("the tool was called again")
			}
		})
	}
}
