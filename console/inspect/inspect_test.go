package inspect

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/servers/everything"
)

// serveVariable makes this test binary serve everything on its standard input and output.
const serveVariable = "JUNCTION_INSPECT_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		fmt.Fprintln(os.Stderr, "everything begins")
		if err := stdio.Serve(context.Background(), served(nil)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// served returns the server everything, with one tool that is a task for clients that support
// tasks.
func served(t *testing.T) mcp.Handler {
	as, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"brew": {}}, Poll: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err) // cannot fail with these options
	}
	if t != nil {
		t.Cleanup(func() { as.Close() })
	}
	s := everything.New()
	mcp.AddTool(s, "brew", func(ctx context.Context, in struct{ Milliseconds int }) (string, error) {
		select {
		case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
			return "coffee", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	apps.AddView(s, mcp.Resource{URI: "ui://clock", Name: "clock"}, apps.View{HTML: "<p>A clock</p>", CSP: &apps.CSP{Connect: []string{"https://time.example.com"}, Resource: []string{"https://cdn.example.com"}}})
	return mcp.Chain(s, as.Middleware())
}

// A console is an Inspector as a page sees it.
type console struct {
	t      *testing.T
	client *http.Client
	url    string
}

// serve serves an Inspector with the function open.
func serve(t *testing.T, open func(ctx context.Context, s Server, h Hooks) (*Opened, error)) *console {
	t.Helper()
	mux := http.NewServeMux()
	inspector := New(Options{Open: open, Once: func(h http.Handler) string {
		path := "/once/" + rand.Text()
		mux.Handle("GET "+path, h)
		return path
	}})
	inspector.Mount(mux.Handle)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		inspector.Close()
		server.Close()
	})
	return &console{t, server.Client(), server.URL}
}

// do sends a request of the API, checks the status, and returns the body.
func (c *console) do(method, path string, body any, status int) json.RawMessage {
	c.t.Helper()
	var sent io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(body)
	default:
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, sent)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if response.StatusCode != status {
		c.t.Fatalf("%s %s: got status %d, want %d: %s", method, path, response.StatusCode, status, data)
	}
	return data
}

// begin begins a connection, and returns its path.
func (c *console) begin(s Server) string {
	c.t.Helper()
	return "/connections/" + text(c.do("POST", "/connections", s, http.StatusAccepted), "id")
}

// text returns a member of an object as text, if it is a string, number or the like, else its JSON.
// A path has dots.
func text(data json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			return ""
		}
		data = members[name]
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return string(data)
}

// A happened is an event as a page gets it.
type happened struct {
	id   uint64
	name string
	data json.RawMessage
}

// events reads the events of a connection after one, until f returns true.
func (c *console) events(path string, after uint64, f func(e happened) bool) []happened {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+path+"/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	response, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var all []happened
	var now happened
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the events ended (%v) after %s", err, names(all))
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			now.id, _ = strconv.ParseUint(value, 10, 64)
		case "event":
			now.name = value
		case "data":
			now.data = json.RawMessage(value)
		case "":
			if now.name == "" {
				continue
			}
			all = append(all, now)
			if f(now) {
				return all
			}
			now = happened{}
		}
	}
}

func names(all []happened) (s string) {
	for _, e := range all {
		s += fmt.Sprintf("\n%s %.300s", e.name, e.data)
	}
	return s
}

// becomes waits for a state, and returns all events up to it.
func (c *console) becomes(path, state string) []happened {
	c.t.Helper()
	return c.events(path, 0, func(e happened) bool {
		if e.name != "state" {
			return false
		}
		got := text(e.data, "state")
		if got != state && got == failedState {
			c.t.Fatalf("it failed: %s", e.data)
		}
		return got == state
	})
}

// ask makes a request, and returns its outcome.
func (c *console) ask(path, method string, params any) json.RawMessage {
	c.t.Helper()
	n := text(c.do("POST", path+"/requests", map[string]any{"method": method, "params": params}, http.StatusAccepted), "request")
	return c.result(path, n)
}

func (c *console) result(path, n string) json.RawMessage {
	c.t.Helper()
	c.events(path, 0, func(e happened) bool { return e.name == "result" && text(e.data, "request") == n })
	return c.do("GET", path+"/requests/"+n, nil, http.StatusOK)
}

// ways returns the ways in which the tests reach the server everything.
func ways(t *testing.T) map[string]func(ctx context.Context, s Server, h Hooks) (*Opened, error) {
	quiet := slog.New(slog.DiscardHandler)
	endpoint := streamable.Handler(served(t))
	remote := httptest.NewServer(endpoint)
	t.Cleanup(remote.Close)
	return map[string]func(ctx context.Context, s Server, h Hooks) (*Opened, error){
		"in process": func(context.Context, Server, Hooks) (*Opened, error) {
			return &Opened{Name: "everything", Transport: stream.PipeWith(served(t), mcp.ServeOptions{Logger: quiet}), Client: mcp.ClientOptions{Logger: quiet}}, nil
		},
		"a program": func(_ context.Context, _ Server, h Hooks) (*Opened, error) {
			program := command.New(os.Args[0])
			program.Env, program.Stderr, program.Skipped, program.Logger = []string{serveVariable + "=1"}, h.Stderr, h.Stdout, quiet
			return &Opened{Name: "everything", Transport: program, Client: mcp.ClientOptions{Logger: quiet}, Entry: Entry{Command: os.Args[0]}}, nil
		},
		"HTTP": func(_ context.Context, _ Server, h Hooks) (*Opened, error) {
			client := &http.Client{Transport: h.HTTP(nil, false)}
			return &Opened{Name: "everything", Transport: streamable.ClientWith(remote.URL, streamable.ClientOptions{HTTP: client, Logger: quiet}),
				Client: mcp.ClientOptions{Logger: quiet}, Entry: Entry{URL: remote.URL}}, nil
		},
	}
}

// eachWay runs a test over every transport and in both eras.
func eachWay(t *testing.T, test func(t *testing.T, c *console, path, way, revision string)) {
	for way, open := range ways(t) {
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			t.Run(way+", "+revision, func(t *testing.T) {
				c := serve(t, open)
				path := c.begin(Server{Name: "everything", Revision: revision})
				c.becomes(path, connected)
				test(t, c, path, way, revision)
			})
		}
	}
}

func TestAConnectionListsAndCalls(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, way, revision string) {
		v := c.do("GET", path, nil, http.StatusOK)
		if got := text(v, "revision"); got != revision {
			t.Errorf("revision: got %s, want %s", got, revision)
		}
		if got, want := text(v, "transport"), map[string]string{"in process": "stream", "a program": "stdio", "HTTP": "streamable-http"}[way]; got != want {
			t.Errorf("transport: got %s, want %s", got, want)
		}
		if got, want := text(v, "reached.command"), map[string]string{"a program": os.Args[0]}[way]; got != want {
			t.Errorf("the program that is run for the name: got %q, want %q", got, want)
		}
		if text(v, "capabilities.tools") == "" || text(v, "info.name") != "everything" || text(v, "instructions") == "" {
			t.Errorf("the server does not introduce itself: %s", v)
		}
		listed := c.ask(path, "tools/list", nil)
		var tools []struct{ Name string }
		if err := json.Unmarshal([]byte(text(listed, "result.tools")), &tools); err != nil || !slices.ContainsFunc(tools, func(tool struct{ Name string }) bool { return tool.Name == "echo" }) {
			t.Fatalf("the tools: %s", listed)
		}
		if got := text(listed, "findings"); got != "" {
			t.Errorf("findings: %s", got)
		}
		called := c.ask(path, "tools/call", map[string]any{"name": "echo", "arguments": map[string]string{"message": "hello"}})
		if got := text(called, "state"); got != done || !strings.Contains(text(called, "result.content"), "hello") {
			t.Errorf("the call: %s", called)
		}
	})
}
