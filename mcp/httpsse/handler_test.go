package httpsse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A caller is a client that a test controls, on a real connection.
type caller struct {
	t        *testing.T
	client   *http.Client
	base     string
	messages string
	stream   *http.Response
	events   *eventstream.Reader
}

type tools struct {
	*mcp.Server
	causes chan error
	begun  chan struct{}
	stop   context.CancelFunc
}

func newTools(t *testing.T) *tools {
	s := &tools{Server: mcp.NewServer("test", "1"), causes: make(chan error, 10), begun: make(chan struct{}, 10)}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(stop)
	mcp.AddTool(s.Server, "echo", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	mcp.AddTool(s.Server, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := mcp.Roots(ctx)
		return fmt.Sprint(len(roots), " roots"), err
	})
	mcp.AddTool(s.Server, "wait", func(c context.Context, _ struct{}) (string, error) {
		s.begun <- struct{}{}
		select {
		case <-c.Done():
			s.causes <- context.Cause(c)
			return "", c.Err()
		case <-ctx.Done():
			return "waited", nil
		}
	})
	return s
}

func serve(t *testing.T, h mcp.Handler, o Options) (*caller, *Endpoint) {
	e := HandlerWith(h, o)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return &caller{t: t, client: server.Client(), base: server.URL}, e
}

// open opens the stream and reads the endpoint event.
func (c *caller) open() {
	c.t.Helper()
	resp, err := c.client.Get(c.base + "/some/path")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		c.t.Fatalf("got status %d, %s", resp.StatusCode, kind)
	}
	c.stream, c.events = resp, eventstream.NewReader(resp.Body, 0)
	first, err := c.events.Next()
	if err != nil || first.Name != "endpoint" || first.HasID {
		c.t.Fatalf("got %+v, %v", first, err)
	}
	to, err := resp.Request.URL.Parse(string(first.Data))
	if err != nil {
		c.t.Fatal(err)
	}
	c.messages = to.String()
}

func (c *caller) handshake() {
	c.t.Helper()
	c.open()
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1"}}}`, 202)
	c.want(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202)
}

// send posts a message and requires a status.
func (c *caller) send(message string, status int, header ...string) string {
	c.t.Helper()
	return c.sendTo(c.messages, message, status, header...)
}

func (c *caller) sendTo(to, message string, status int, header ...string) string {
	c.t.Helper()
	r, _ := http.NewRequest("POST", to, strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		c.t.Fatalf("%s: got status %d %s, want %d", message, resp.StatusCode, body, status)
	}
	return string(body)
}

// want fails the test unless the next message contains the text.
func (c *caller) want(text string) {
	c.t.Helper()
	event, err := c.events.Next()
	if err != nil || event.Name != "message" || !strings.Contains(string(event.Data), text) {
		c.t.Fatalf("got %s %s, %v; want a message with %s", event.Name, event.Data, err, text)
	}
}

func (c *caller) wantEnd() {
	c.t.Helper()
	if event, err := c.events.Next(); err != io.EOF {
		c.t.Fatalf("got %s, %v; want the end of the stream", event.Data, err)
	}
}

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

func TestAnOldClientIsServed(t *testing.T) {
	s := newTools(t)
	c, _ := serve(t, s, Options{})
	c.handshake()
	c.send(call(1, "echo", `{"text":"hi"}`), 202)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}`)
	c.send(call(2, "ask", `{}`), 202)
	c.want(`"method":"roots/list"`)
	c.send(`{"jsonrpc":"2.0","id":"junction-1","result":{"roots":[{"uri":"file:///a"}]}}`, 202)
	c.want(`"1 roots"`)
	s.RemoveTool("echo")
	c.want("notifications/tools/list_changed")
	c.send(`{`, 202)
	c.want(`"id":null,"error":{"code":-32700`)
}

// A long list is sent from reused memory.
func TestAListCostsAnOldClientNoMemory(t *testing.T) {
	s := newTools(t)
	mcp.AddToolWith(s.Server, mcp.Tool{Name: "long", Description: strings.Repeat("x", 512<<10)}, func(context.Context, struct{}) (string, error) { return "", nil })
	c, _ := serve(t, s, Options{})
	c.handshake()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	c.send(list, 202)
	event, err := c.events.Next()
	if err != nil {
		t.Fatal(err)
	}
	sent := int64(len("event: message\ndata: ") + len(event.Data) + len("\n\n"))
	least := uint64(math.MaxUint64) // with the race detector a pool drops some
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.send(list, 202)
		if _, err := io.CopyN(io.Discard, c.stream.Body, sent); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 64<<10 {
		t.Errorf("a list of %d bytes takes %d", sent, least)
	}
}

func TestAModernClientIsServedToo(t *testing.T) {
	c, _ := serve(t, newTools(t), Options{})
	c.open()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, 202)
	c.want(`"resultType":"complete"`)
}

func TestARequestCanBeCancelled(t *testing.T) {
	s := newTools(t)
	c, _ := serve(t, s, Options{})
	c.handshake()
	c.send(call(1, "wait", "{}"), 202)
	<-s.begun
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202)
	if cause := <-s.causes; !errors.Is(cause, edge.ErrCancelled) {
		t.Errorf("got %v", cause)
	}
	c.send(call(2, "echo", `{"text":"next"}`), 202)
	c.want(`"text":"next"`)
}

func TestClosingTheStreamEndsEverything(t *testing.T) {
	s := newTools(t)
	c, e := serve(t, s, Options{})
	c.handshake()
	c.send(call(1, "wait", "{}"), 202)
	<-s.begun
	c.stream.Body.Close()
	<-s.causes
	waitFor(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.connections) == 0
	})
	c.send(call(2, "echo", `{"text":"hi"}`), 404)
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("timed out")
		}
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	o := Options{AllowedOrigins: []string{"https://app.example"}}
	o.MaxMessage = 200
	c, _ := serve(t, newTools(t), o)
	c.handshake()
	c.sendTo(c.base, "{}", 405)
	c.sendTo(c.base+"?sessionId=guess", "{}", 404)
	c.send("{}", 415, "Content-Type", "text/plain")
	c.send(strings.Repeat("x", 201), 413)
	c.send("{}", 403, "Origin", "https://evil.example")
	c.send(call(1, "echo", `{"text":"hi"}`), 202, "Origin", "https://app.example")
	c.want(`"text":"hi"`)
}

func TestStreamsThatAreRefused(t *testing.T) {
	c, _ := serve(t, newTools(t), Options{StreamPath: "/sse", MaxConnections: 1, CORS: true})
	get := func(path string, header ...string) *http.Response {
		r, _ := http.NewRequest("GET", c.base+path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
		}
		resp, err := c.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	for _, step := range []struct {
		name   string
		path   string
		header []string
		status int
	}{
		{"another path", "/other", nil, 404},
		{"another media type", "/sse", []string{"Accept", "application/json"}, 406},
		{"another host", "/sse", []string{"Host", "evil.example"}, 403},
		{"another origin", "/sse", []string{"Origin", "https://evil.example"}, 403},
		{"nothing wrong", "/sse", []string{"Origin", "http://localhost:1"}, 200},
		{"one too many", "/sse", nil, 503},
	} {
		if resp := get(step.path, step.header...); resp.StatusCode != step.status {
			t.Errorf("%s: got status %d, want %d", step.name, resp.StatusCode, step.status)
		}
	}
	r, _ := http.NewRequest("OPTIONS", c.base+"/sse", nil)
	r.Header.Set("Origin", "http://localhost:1")
	resp, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "http://localhost:1" {
		t.Errorf("preflight: got %v", resp)
	}
}

func TestMessagesGoWhereTheOptionsSay(t *testing.T) {
	for path, want := range map[string]string{"": "/some/path", "/messages/": "/messages/", "https://mcp.example/m": "https://mcp.example/m"} {
		c, _ := serve(t, newTools(t), Options{MessagePath: path})
		c.open()
		u, _ := url.Parse(c.messages)
		u.RawQuery = ""
		if got := u.String(); got != want && got != c.base+want {
			t.Errorf("with %q: got %s, want %s", path, got, want)
		}
	}
	stripped := httptest.NewServer(http.StripPrefix("/some", Handler(newTools(t))))
	defer stripped.Close()
	c := &caller{t: t, client: stripped.Client(), base: stripped.URL}
	c.handshake()
	c.stream.Body.Close()
}

func TestAConnectionBelongsToItsPrincipal(t *testing.T) {
	c, _ := serve(t, newTools(t), Options{Principal: func(r *http.Request) (*mcp.Principal, error) {
		if user := r.Header.Get("Authorization"); user != "nobody" {
			return &mcp.Principal{Subject: user}, nil
		}
		return nil, errors.New("secret reason")
	}})
	c.open()
	c.send(call(1, "echo", `{"text":"hi"}`), 404, "Authorization", "bob")
	if body := c.send(call(1, "echo", `{"text":"hi"}`), 401, "Authorization", "nobody"); strings.Contains(body, "secret") {
		t.Errorf("got %s", body)
	}
}

func TestMessagesAtATimeAreLimited(t *testing.T) {
	s := newTools(t)
	o := Options{}
	o.MaxInFlight = 2
	c, _ := serve(t, s, o)
	c.handshake()
	for id := range 2 {
		c.send(call(id, "wait", "{}"), 202)
		<-s.begun
	}
	c.send(call(3, "echo", `{"text":"hi"}`), 503)
	s.stop()
	c.want("waited")
	c.want("waited")
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	s := newTools(t)
	c, e := serve(t, s, Options{})
	c.handshake()
	c.send(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, 202)
	c.want("acknowledged")
	c.send(call(1, "wait", "{}"), 202)
	<-s.begun
	done := make(chan error)
	go func() { done <- e.Shutdown(context.Background()) }()
	waitFor(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.ending
	})
	resp, err := c.client.Get(c.base)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 {
		t.Errorf("a new stream: got status %d", resp.StatusCode)
	}
	s.stop()
	var ends string
	for range 2 { // in any order
		event, err := c.events.Next()
		if err != nil {
			t.Fatal(err)
		}
		ends += string(event.Data)
	}
	if !strings.Contains(ends, "waited") || !strings.Contains(ends, `"id":"l","result"`) {
		t.Errorf("got %s", ends)
	}
	c.wantEnd()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsEverythingAtOnce(t *testing.T) {
	s := newTools(t)
	c, e := serve(t, s, Options{})
	c.handshake()
	c.send(call(1, "wait", "{}"), 202)
	<-s.begun
	e.Close()
	<-s.causes
	for {
		if _, err := c.events.Next(); err != nil {
			break
		}
	}
}

func TestCommentsKeepTheStreamOpen(t *testing.T) {
	c, _ := serve(t, newTools(t), Options{KeepAlive: time.Millisecond})
	c.open()
	if line, err := bufio.NewReader(c.stream.Body).ReadString('\n'); err != nil || line != ":\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// A silent client reads nothing until the test allows it.
type silent struct {
	*httptest.ResponseRecorder
	read chan struct{}
}

func (s *silent) Write(b []byte) (int, error) {
	<-s.read
	return s.ResponseRecorder.Write(b)
}

func TestAClientThatDoesNotReadHoldsUpNoShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := Handler(mcp.NewServer("test", "1"))
		w := &silent{httptest.NewRecorder(), make(chan struct{})}
		go e.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
		synctest.Wait()
		began := time.Now()
		time.AfterFunc(time.Minute, func() { close(w.read) })
		if err := e.Shutdown(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		<-w.read
	})
}
