package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

func TestClosingTheConnectionCancelsAModernRequest(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.abandon(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait",`+modernMeta+`}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait")
	}()
	<-f.begun
	cancel()
	if cause := <-f.causes; !errors.Is(cause, context.Canceled) {
		t.Errorf("got %v", cause)
	}
	<-done
}

func TestASubscriptionIsAStreamUntilTheClientCloses(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	e := s.events(s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	e.want("notifications/subscriptions/acknowledged")
	f.RemoveTool("echo")
	e.want("notifications/tools/list_changed")
	e.resp.Body.Close()
	wait(t, func() bool { return s.endpoint.streams.Used() == 0 })
}

// wait waits for a condition that soon becomes true.
func wait(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out")
		}
	}
}

func TestDeletingASessionCancelsCalls(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	notifications := s.events(s.do("GET", "", "Mcp-Session-Id", session))
	go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	<-f.begun
	if resp := s.do("DELETE", "", "Mcp-Session-Id", session); resp.StatusCode != 204 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	if cause := <-f.causes; !errors.Is(cause, errDeleted) {
		t.Errorf("got %v", cause)
	}
	notifications.wantEnd()
}

func TestBodiesAreLimited(t *testing.T) {
	f := newFixture(t)
	o := Options{}
	o.MaxMessage = 600 << 10
	s := newSite(t, f.Server, o)
	session := s.handshake(polling)
	for _, length := range []int{10, 1000, httpedge.FirstRead, httpedge.FirstRead + 1, 500 << 10, o.MaxMessage - 200, o.MaxMessage - 20, o.MaxMessage + 1, 5 << 20} {
		for _, known := range []bool{true, false} {
			body := callTool(1, "echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", length)))
			r, _ := http.NewRequest("POST", s.url, strings.NewReader(body))
			if !known {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), -1
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
			resp, err := s.client.Do(r)
			if err != nil {
				if len(body) > o.MaxMessage {
					continue // the server may disconnect a client that continues to send
				}
				t.Fatalf("%d bytes: %v", len(body), err)
			}
			got := s.read(resp)
			resp.Body.Close()
			want := 200
			if len(body) > o.MaxMessage {
				want = 413
			}
			if resp.StatusCode != want || want == 200 && !strings.Contains(got, `"content"`) || want == 413 && !strings.Contains(got, "at most 614400 bytes") {
				t.Errorf("%d bytes, length known: %v: status %d %.200s", len(body), known, resp.StatusCode, got)
			}
		}
	}
}

func TestSessionsAreLimited(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{MaxSessions: 2})
	first := s.handshake(polling)
	s.handshake(polling)
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	resp := s.do("POST", initialize)
	if body := s.read(resp); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !strings.Contains(body, "too many sessions: at most 2") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	s.do("DELETE", "", "Mcp-Session-Id", first)
	s.handshake(polling)
}

func TestStreamsAreLimited(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{MaxStreams: 1})
	session := s.handshake(polling)
	e := s.events(s.modern("subscriptions/listen", "", `"notifications":{}`))
	e.want("acknowledged")
	if resp := s.do("GET", "", "Mcp-Session-Id", session); resp.StatusCode != 503 {
		t.Errorf("GET: status %d", resp.StatusCode)
	}
	if resp := s.modern("subscriptions/listen", "", `"notifications":{}`); resp.StatusCode != 503 {
		t.Errorf("listen: status %d", resp.StatusCode)
	}
	e.resp.Body.Close()
	wait(t, func() bool { return s.endpoint.streams.Used() == 0 })
	s.events(s.do("GET", "", "Mcp-Session-Id", session))
}

type loginPage struct{}

func (loginPage) Error() string { return "log in first" }

func (loginPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.WriteHeader(http.StatusUnauthorized)
}

func TestASessionBelongsToItsPrincipal(t *testing.T) {
	f := newFixture(t)
	seen := make(chan *mcp.Principal, 10)
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		seen <- req.Principal
		return f.Handle(ctx, req)
	})
	s := newSite(t, h, Options{Principal: func(r *http.Request) (*mcp.Principal, error) {
		switch user := r.Header.Get("Authorization"); user {
		case "":
			return nil, fmt.Errorf("nobody: %w", loginPage{})
		case "broken":
			return nil, errors.New("secret reason")
		default:
			return &mcp.Principal{Subject: user, Issuer: "test"}, nil
		}
	}})
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	session := s.do("POST", initialize, "Authorization", "ada").Header.Get("Mcp-Session-Id")
	if p := <-seen; p == nil || p.Subject != "ada" {
		t.Errorf("got principal %+v", p)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if resp := s.do(method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "bob", "Mcp-Session-Id", session); resp.StatusCode != 404 {
			t.Errorf("%s by another principal: status %d, want 404", method, resp.StatusCode)
		}
	}
	if resp := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "ada", "Mcp-Session-Id", session); resp.StatusCode != 200 {
		t.Errorf("by the same principal: status %d", resp.StatusCode)
	}
	if resp := s.do("POST", initialize); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("got %d, want the refusal of the error", resp.StatusCode)
	}
	resp := s.do("POST", initialize, "Authorization", "broken")
	if body := s.read(resp); resp.StatusCode != 401 || strings.Contains(body, "secret") {
		t.Errorf("got %d %s, want 401 without the reason", resp.StatusCode, body)
	}
}

func TestShutdownLetsRunningRequestsFinish(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	listen := s.events(s.modern("subscriptions/listen", "", `"notifications":{}`))
	listen.want("acknowledged")
	notifications := s.events(s.do("GET", "", "Mcp-Session-Id", session))
	steps := f.steps
	go func() { steps <- "begin" }()
	running := s.events(s.do("POST", callTool(1, "steps", "{}"), "Mcp-Session-Id", session))
	running.want(`"message":"begin"`)
	done := make(chan error)
	go func() { done <- s.endpoint.Shutdown(context.Background()) }()
	wait(t, func() bool {
		c := &call{}
		_, err := s.endpoint.begin(t.Context(), c)
		if err == nil {
			s.endpoint.end(c)
		}
		return err != nil
	})
	if resp := s.do("POST", callTool(2, "echo", `{"text":"hi"}`), "Mcp-Session-Id", session); resp.StatusCode != 503 {
		t.Errorf("a new request: status %d, want 503", resp.StatusCode)
	}
	if resp := s.modern("tools/list", "", ""); resp.StatusCode != 503 {
		t.Errorf("a new modern request: status %d, want 503", resp.StatusCode)
	}
	if resp := s.do("GET", "", "Mcp-Session-Id", session, "Last-Event-ID", "p9-9"); resp.StatusCode == 200 {
		t.Error("a new stream was opened")
	}
	steps <- "go on"
	running.want(`"message":"go on"`)
	close(steps)
	running.want("all steps done")
	running.wantEnd()
	listen.want(`"result"`)
	listen.wantEnd()
	notifications.wantEnd()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
	if resp := s.do("POST", callTool(2, "echo", `{"text":"hi"}`), "Mcp-Session-Id", session); resp.StatusCode != 503 && resp.StatusCode != 404 {
		t.Errorf("after the end: status %d", resp.StatusCode)
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	f := newFixture(t)
	o := Options{}
	o.DrainTimeout = time.Millisecond
	s := newSite(t, f.Server, o)
	session := s.handshake(polling)
	go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	<-f.begun
	if err := s.endpoint.Shutdown(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if cause := <-f.causes; !errors.Is(cause, edge.ErrShutdown) {
		t.Errorf("the request ended because %v", cause)
	}
}

func TestCloseEndsEverythingAtOnce(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	listen := s.events(s.modern("subscriptions/listen", "", `"notifications":{}`))
	notifications := s.events(s.do("GET", "", "Mcp-Session-Id", session))
	go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	<-f.begun
	s.endpoint.Close()
	if cause := <-f.causes; !errors.Is(cause, edge.ErrShutdown) {
		t.Errorf("the request ended because %v", cause)
	}
	listen.want("acknowledged")
	listen.want(`"result"`)
	listen.wantEnd()
	notifications.wantEnd()
	if resp := s.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`); resp.StatusCode != 503 {
		t.Errorf("a handshake after the end: status %d, want 503", resp.StatusCode)
	}
}

func TestHandlerPanicsWithoutOne(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Handler(nil)
}

// TestARequestThatRunsAtTheEndGetsAResponse checks that a request that does not end in time gets a
// 503 and is not cut off.
func TestARequestThatRunsAtTheEndGetsAResponse(t *testing.T) {
	begun := make(chan struct{})
	s := newSite(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method != "tools/call" {
			return mcp.Result{}, nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		return mcp.Result{}, fmt.Errorf("the server: %w", ctx.Err())
	}), Options{})
	session := s.handshake(polling)
	responses := make(chan *http.Response, 2)
	go func() { responses <- s.do("POST", callTool(1, "wait", "{}"), "Mcp-Session-Id", session) }()
	<-begun
	go func() { responses <- s.modern("tools/call", "wait", `"name":"wait"`) }()
	<-begun
	s.endpoint.Close()
	for range 2 {
		r := <-responses
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "the server is shutting down") {
			t.Errorf("status %d, %v: %s, %v", r.StatusCode, r.Header, body, err)
		}
	}
}
