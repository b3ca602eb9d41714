package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// endsWithin is the time in which other replicas notice that one was killed.
const endsWithin = 30 * time.Second

// longText is the result of the tool long.
var longText = strings.Repeat("größer und länger\n", 100_000)

// steppingServer starts a server whose tool steps sends a text of the channel as progress, until the
// text is empty. The result of its tool long is longText.
func steppingServer(t *testing.T) (url string, steps chan string) {
	tools := mcp.NewServer("s", "1")
	steps = make(chan string)
	mcp.AddTool(tools, "steps", func(ctx context.Context, _ struct{}) (string, error) {
		for n := 1.0; ; n++ {
			select {
			case text := <-steps:
				if text == "" {
					return "all steps done", nil
				}
				if err := mcp.Progress(ctx, n, 0, text); err != nil {
					return "", err
				}
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	})
	mcp.AddTool(tools, "long", func(context.Context, struct{}) (string, error) { return longText, nil })
	served := httptest.NewServer(streamable.Handler(tools))
	t.Cleanup(func() { served.CloseClientConnections(); served.Close() })
	return served.URL, steps
}

// A legacySession is a client of a legacy revision that sends single requests to replicas.
type legacySession struct {
	*replicas
	id, revision string
}

// beginSession begins a session at a replica.
func (w *replicas) beginSession(origin, revision string) *legacySession {
	w.Helper()
	s := &legacySession{replicas: w, revision: revision}
	resp := s.send(origin, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, revision))
	if s.id = resp.Header.Get("Mcp-Session-Id"); s.id == "" {
		w.Fatalf("initialize: %s", resp.Status)
	}
	return s
}

// send sends one request to a replica.
func (s *legacySession) send(origin, method, body string, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, origin+"/mcp", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
		r.Header.Set("MCP-Protocol-Version", s.revision)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { resp.Body.Close() })
	return resp
}

// answer returns the body of a response to a request with parameters.
func (s *legacySession) answer(origin, method, params string) string {
	s.Helper()
	resp := s.send(origin, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(body)
}

// A sessionStream is a stream of a session at a replica.
type sessionStream struct {
	*legacySession
	origin string
	resp   *http.Response
	reader *eventstream.Reader
	last   string // id of the last event
}

// steps calls the tool steps.
func (s *legacySession) steps(origin string) *sessionStream {
	s.Helper()
	return s.stream(origin, s.send(origin, "POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"steps","arguments":{},"_meta":{"progressToken":7}}}`))
}

// resume continues a stream at a replica after an event.
func (s *legacySession) resume(origin, last string) *sessionStream {
	s.Helper()
	next := s.stream(origin, s.send(origin, "GET", "", "Last-Event-ID", last))
	next.last = last
	return next
}

func (s *legacySession) stream(origin string, resp *http.Response) *sessionStream {
	s.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		s.Fatalf("no stream: %s: %s", resp.Status, body)
	}
	return &sessionStream{legacySession: s, origin: origin, resp: resp, reader: eventstream.NewReader(resp.Body, 0)}
}

// want reads the next message, which must contain a text, or the end of the stream if it is empty. It
// resumes a stream that ends before, as clients do.
func (s *sessionStream) want(text string) {
	s.Helper()
	for ends := 0; ; {
		e, err := s.reader.Next()
		if err == io.EOF && text == "" {
			return
		}
		if err == io.EOF && s.last != "" && ends < 3 {
			ends++
			next := s.resume(s.origin, s.last)
			s.resp, s.reader = next.resp, next.reader
			continue
		}
		if err != nil {
			s.Fatalf("%v, want %q", err, text)
		}
		if e.HasID {
			s.last = e.ID
		}
		if len(e.Data) == 0 {
			continue
		}
		if text == "" || !strings.Contains(string(e.Data), text) {
			s.Fatalf("got %s, want %q", e.Data, text)
		}
		return
	}
}

// TestStreamsOutliveTheirReplica resumes the stream of a call at another replica that has no way to
// the first one but the store, before and after the first one is killed.
func TestStreamsOutliveTheirReplica(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), "")
	url, steps := steppingServer(t)
	w.server = url
	w.configureShared(`["${file:old}"]`, "")
	w.up()
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		s := w.beginSession(w.origins[0], revision)
		go func() { steps <- "one" }()
		first := s.steps(w.origins[0])
		first.want("one")
		first.resp.Body.Close()
		steps <- "two"
		second := s.resume(w.origins[1], first.last)
		second.want("two")
		steps <- "three"
		second.want("three")
		third := s.resume(w.origins[2], first.last)
		third.want("two")
		third.want("three")
		steps <- "" // ends this call
		second.want("all steps done")
		third.want("all steps done")
		third.want("")
		s.resume(w.origins[1], third.last).want("")
	}
	s := w.beginSession(w.origins[0], "2025-11-25")
	go func() { steps <- "one" }()
	first := s.steps(w.origins[0])
	first.want("one")
	steps <- "two"
	first.want("two")
	second := s.resume(w.origins[1], strings.Replace(first.last, "-2", "-1", 1))
	second.want("two") // so the log has it
	if err := w.all[0].process.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	second.want("the replica of this server that ran the request has ended")
	second.want("")
	if took := time.Since(began); took > endsWithin {
		t.Errorf("the error came after %v", took)
	} else {
		t.Logf("the error came after %v", took)
	}
	third := s.resume(w.origins[2], strings.Replace(first.last, "-2", "-1", 1))
	third.want("two")
	third.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the replica`)
	third.want("")
	s.resume(w.origins[2], second.last).want("")
	if body := s.answer(w.origins[1], "tools/call", `{"name":"steps","arguments":{"none":1}}`); !strings.Contains(body, "none") {
		t.Errorf("the session does not go on: %s", body)
	}
}

// TestLongResultsOutliveTheirReplica reads a long result at other replicas, before and after the one
// that made it is killed.
func TestLongResultsOutliveTheirReplica(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), "")
	w.server, _ = steppingServer(t)
	w.configureShared(`["${file:old}"]`, `,"maxResult":50000`)
	keys := []string{strings.TrimSpace(w.input("", "key", "create", "ann")), strings.TrimSpace(w.input("", "key", "create", "eve"))}
	w.up("--auth", "keys")
	var clients [2][3]*mcp.Client // by key and replica
	for i, key := range keys {
		for j, origin := range w.origins {
			var err error
			if clients[i][j], err = w.withKey(origin+"/mcp", key); err != nil {
				t.Fatal(err)
			}
		}
	}
	result, err := clients[0][0].CallTool(t.Context(), "long", nil)
	if err != nil || len(result.Content) != 2 {
		t.Fatalf("%v, %v", result, err)
	}
	uri := result.Content[1].Link.URI
	check := func(when string, j int) {
		t.Helper()
		read, err := clients[0][j].ReadResource(t.Context(), uri)
		if err != nil || read.Contents[0].Text != longText {
			t.Fatalf("%s: replica %d: %v", when, j, err)
		}
		text := ""
		for page := 1; len(text) < len(longText); page++ {
			read, err := clients[0][j].ReadResource(t.Context(), fmt.Sprint(uri, "/", page))
			if err != nil {
				t.Fatalf("%s: replica %d: page %d: %v", when, j, page, err)
			}
			text += read.Contents[0].Text
		}
		if text != longText {
			t.Errorf("%s: replica %d: the pages are not the text", when, j)
		}
		if read, err := clients[1][j].ReadResource(t.Context(), uri); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s: replica %d: another user reads %v, %v", when, j, read, err)
		}
	}
	check("while all run", 0)
	check("while all run", 1)
	if err := w.all[0].process.Kill(); err != nil {
		t.Fatal(err)
	}
	check("after the first was killed", 2)
}

// TestLegacyTasksOutliveTheirReplica begins tasks of 2025-11-25 at one replica, and asks others about
// them, before and after that one is killed.
func TestLegacyTasksOutliveTheirReplica(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), "")
	var steps chan string
	w.server, steps = steppingServer(t)
	w.configureShared(`["${file:old}"]`, "")
	w.up()
	s := w.beginSession(w.origins[0], "2025-11-25")
	start := func(tool string) string {
		t.Helper()
		body := s.answer(w.origins[0], "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{},"task":{}}`, tool))
		_, rest, _ := strings.Cut(body, `"taskId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if id == "" {
			t.Fatalf("%s: %s", tool, body)
		}
		return fmt.Sprintf(`{"taskId":%q}`, id)
	}
	long, ends, dies := start("long"), start("steps"), ""
	steps <- "one"
	if body := s.answer(w.origins[1], "tasks/get", ends); !strings.Contains(body, `"status":"working"`) {
		t.Errorf("a task that runs: %s", body)
	}
	steps <- ""
	for _, origin := range w.origins {
		for task, want := range map[string]string{long: "größer und länger", ends: "all steps done"} {
			if body := s.answer(origin, "tasks/result", task); !strings.Contains(body, want) {
				t.Errorf("a result of %d bytes, want %q", len(body), want)
			}
		}
		if body := s.answer(origin, "tasks/list", `{}`); strings.Count(body, `"taskId"`) != 2 {
			t.Errorf("a list: %s", body)
		}
	}
	dies = start("steps")
	steps <- "one"
	if err := w.all[0].process.Kill(); err != nil {
		t.Fatal(err)
	}
	if body := s.answer(w.origins[1], "tasks/result", ends); !strings.Contains(body, "all steps done") {
		t.Errorf("the result of a task of the replica that was killed: %s", body)
	}
	began := time.Now()
	if body := s.answer(w.origins[2], "tasks/result", dies); !strings.Contains(body, `"error"`) || time.Since(began) > endsWithin {
		t.Errorf("after %v: a task that died with its replica: %s", time.Since(began), body)
	} else {
		t.Logf("after %v: %s", time.Since(began), body)
	}
}
