package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A watched server is served over HTTP, and its requests are recorded.
type watched struct {
	url string

	mu      sync.Mutex
	handler http.Handler
	methods []string
	headers []http.Header
}

func watch(t *testing.T, h mcp.Handler) *watched {
	t.Helper()
	w := &watched{}
	w.forget(t, h)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct{ Method string }
		_ = json.Unmarshal(body, &m) // a GET has none
		w.mu.Lock()
		w.methods, w.headers = append(w.methods, m.Method), append(w.headers, r.Header.Clone())
		h := w.handler
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.url = server.URL
	return w
}

// forget replaces the server with one that knows none of the earlier sessions.
func (w *watched) forget(t *testing.T, h mcp.Handler) {
	served := streamable.HandlerWith(h, streamable.Options{ServeOptions: mcp.ServeOptions{Logger: quiet}})
	t.Cleanup(served.Close)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = served
}

func (w *watched) count(method string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.methods {
		if m == method {
			n++
		}
	}
	return n
}

func who(t *testing.T, c *mcp.Client, tool string) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, nil)
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return ""
	}
	return result.Text()
}

func missing(t *testing.T, g *gateway.Gateway) string {
	t.Helper()
	result, err := g.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
	must(t, err)
	return string(jsonrpc.Get(result.Meta, "io.github.junction-mcp/missing"))
}

// Each test is named after threads with complaints of users of other gateways.

func TestAgentgateway138And1029And1266OneBadServerFailsNothingElse(t *testing.T) {
	g, _ := open(t)
	c := mcp.NewClient(g)
	checkOffer(t, c)
	if got := who(t, c, "old__who"); got != "old" {
		t.Errorf("the server next to it said %q", got)
	}
	if got := missing(t, g); !strings.Contains(got, `"failed"`) || !strings.Contains(got, "no such program") {
		t.Errorf("the list says %s", got)
	}
}

func TestAgentgateway3622ExpiredSessionsAreRenewed(t *testing.T) {
	w := watch(t, member(t, "old"))
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	addURL(t, g, "old", w.url, "2025-06-18")
	settled(t, g)
	c := mcp.NewClient(g)
	for range 3 {
		w.forget(t, member(t, "old"))
		if got := who(t, c, "old__who"); got != "old" {
			t.Errorf("it said %q", got)
		}
	}
}

func TestAgentgateway1582ResourcesAndPromptsAreOfferedAndRouted(t *testing.T) {
	g, _ := open(t)
	c := mcp.NewClient(g)
	for _, name := range []string{"old", "new", "inside"} {
		read, err := c.ReadResource(t.Context(), "test://"+name+"/item/7")
		if err != nil || read.Contents[0].Text != name+" item 7" {
			t.Errorf("of %s: %v %v", name, read, err)
		}
		got, err := c.GetPrompt(t.Context(), name+"__greet", map[string]string{"name": "Ada"})
		if err != nil || got.Messages[0].Content.Text != name+" greets Ada" {
			t.Errorf("of %s: %v %v", name, got, err)
		}
	}
}

func TestAgentgateway1390AServerThatWantsCredentialsSaysSo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tracker"`)
		http.Error(w, "no token", http.StatusUnauthorized)
	}))
	defer server.Close()
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	addURL(t, g, "tracker", server.URL, "")
	if s := settled(t, g); s.State != gateway.Failed || s.Err == nil || !strings.Contains(s.Err.Error(), "401") {
		t.Errorf("the status is %+v", s)
	}
	if _, err := mcp.NewClient(g).CallTool(t.Context(), "tracker__t", nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a call: %v", err)
	}
}

func TestContextForge4557And6481ACallIsOneRequestOfAServerThatStaysConnected(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		w := watch(t, member(t, "s"))
		g := gateway.New(gateway.Options{Logger: quiet})
		addURL(t, g, "s", w.url, revision)
		settled(t, g)
		before := len(w.methods)
		for range 50 { // each from a client of its own, which keeps no session
			if got := who(t, mcp.NewClient(g), "s__who"); got != "s" {
				t.Errorf("it said %q", got)
			}
		}
		if all := len(w.methods) - before; all != 50 || w.count("tools/call") != 50 || w.count("initialize") > 1 {
			t.Errorf("%s: 50 calls are %d requests, with %d sessions", revision, all, w.count("initialize"))
		}
		g.Close()
	}
}

func TestContextForge1549LookingWhetherAServerWorksLeavesNoSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		g := gateway.New(gateway.Options{Logger: quiet})
		must(t, add(g, "s", func(ctx context.Context) (*mcp.Client, error) {
			dials.Add(1)
			return mcp.DialWith(ctx, stream.Pipe(member(t, "s")), mcp.ClientOptions{Revision: "2025-06-18", Bridge: true, Logger: quiet})
		}))
		must(t, g.Settle(t.Context()))
		time.Sleep(100 * time.Hour) // as it is pinged each minute
		if n := dials.Load(); n != 1 {
			t.Errorf("there were %d sessions", n)
		}
		g.Close()
		synctest.Wait()
	})
}

func TestDockerGateway561AndRegistry310AServerWithoutToolsSaysWhy(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, add(g, "empty", func(context.Context) (*mcp.Client, error) { return nil, errors.New("the option --volume is not known") }))
	if s := settled(t, g); s.Tools != 0 || s.Err == nil || !strings.Contains(s.Err.Error(), "--volume") {
		t.Errorf("the status is %+v", s)
	}
	if got := missing(t, g); !strings.Contains(got, "--volume") {
		t.Errorf("the list says %s", got)
	}
}

func TestDockerGateway278EveryNameThatIsListedCanBeCalled(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	for _, name := range []string{"a", "a__b", "größe", strings.Repeat("long", 15), "with.dot"} {
		s := mcp.NewServer(name, "1")
		for _, tool := range []string{"who", "b__who", strings.Repeat("tool", 16), "with.dot"} {
			mcp.AddTool(s, tool, func(context.Context, struct{}) (string, error) { return name + " " + tool, nil })
		}
		must(t, g.AddHandler(name, s))
	}
	c := mcp.NewClient(g)
	seen := map[string]bool{}
	for tool, err := range c.Tools(t.Context()) {
		must(t, err)
		seen[who(t, c, tool.Name)] = true
	}
	if len(seen) != 20 {
		t.Errorf("of 20 tools %d can be called: %v", len(seen), seen)
	}
}

func TestDockerDesktop302AndToolHive5786ChangesAndRecoveryReachClients(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	var there atomic.Bool
	s := member(t, "s")
	must(t, add(g, "s", func(ctx context.Context) (*mcp.Client, error) {
		if !there.Load() {
			return nil, errors.New("not yet")
		}
		return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Bridge: true, Logger: quiet})
	}))
	settled(t, g)
	var changes atomic.Int64
	c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: "2025-06-18", Logger: quiet})
	must(t, err)
	defer c.Close()
	agreed := make(chan struct{})
	go func() {
		_ = c.ListenWith(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) { changes.Add(1) }, func(mcp.SubscriptionFilter) { close(agreed) })
	}()
	<-agreed
	there.Store(true)
	if got := who(t, c, "s__who"); got != "s" {
		t.Errorf("it said %q", got)
	}
	eventually(t, func() bool { return changes.Load() > 0 })
	before := changes.Load()
	mcp.AddTool(s, "more", func(context.Context, struct{}) (string, error) { return "more", nil })
	eventually(t, func() bool { return changes.Load() > before })
	if got := who(t, c, "s__more"); got != "more" {
		t.Errorf("it said %q", got)
	}
}

func TestToolHive2114And2785And2986ServersOfEachTransportAreListedAndCalledTwice(t *testing.T) {
	h := httpsse.Handler(member(t, "sse"))
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, add(g, "sse", func(ctx context.Context) (*mcp.Client, error) {
		return mcp.DialWith(ctx, httpsse.Client(server.URL), mcp.ClientOptions{Bridge: true, Logger: quiet})
	}))
	addURL(t, g, "http", watch(t, member(t, "http")).url, "")
	must(t, add(g, "stdio", func(ctx context.Context) (*mcp.Client, error) {
		return mcp.DialWith(ctx, stream.Pipe(member(t, "stdio")), mcp.ClientOptions{Bridge: true, Logger: quiet})
	}))
	settled(t, g)
	front, url := served(t)
	addURL(t, front, "all", watch(t, g).url, "")
	settled(t, front)
	for _, revision := range []string{"2025-03-26", "2025-11-25", "2026-07-28"} {
		c, err := mcp.DialWith(t.Context(), streamable.Client(url), mcp.ClientOptions{Revision: revision, Logger: quiet})
		must(t, err)
		for _, name := range []string{"sse", "http", "stdio"} {
			for range 2 {
				if got := who(t, c, "all__"+name+"__who"); got != name {
					t.Errorf("it said %q", got)
				}
			}
		}
		c.Close()
	}
}

func TestToolHive6059AQuestionCrossesEveryPairOfEras(t *testing.T) {
	g, _ := open(t)
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet,
			OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"word":"yes"}`)}, nil
			}})
		must(t, err)
		for _, name := range []string{"old", "new"} {
			if got := who(t, c, name+"__ask"); got != name+" heard yes" {
				t.Errorf("a client of %s: %q", revision, got)
			}
		}
		c.Close()
	}
}

func TestMetaMCP188And198AndMCPO122ServersGetTheirOwnCredentialsAndNoOthers(t *testing.T) {
	g, url := served(t)
	var servers []*watched
	for _, name := range []string{"a", "b"} {
		w := watch(t, member(t, name))
		servers = append(servers, w)
		must(t, add(g, name, func(ctx context.Context) (*mcp.Client, error) {
			header := http.Header{"Authorization": {"Bearer key-of-" + name}}
			return mcp.DialWith(ctx, streamable.ClientWith(w.url, streamable.ClientOptions{Header: header}), mcp.ClientOptions{Bridge: true, Logger: quiet})
		}))
	}
	settled(t, g)
	header := http.Header{"Authorization": {"Bearer of-the-client"}, "Cookie": {"session=of-the-client"}}
	c, err := mcp.DialWith(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{Header: header}), mcp.ClientOptions{Logger: quiet})
	must(t, err)
	defer c.Close()
	for i, name := range []string{"a", "b"} {
		if got := who(t, c, name+"__who"); got != name {
			t.Errorf("it said %q", got)
		}
		w := servers[i]
		w.mu.Lock()
		for _, h := range w.headers {
			if got := h.Get("Authorization"); got != "Bearer key-of-"+name || strings.Contains(fmt.Sprint(h), "of-the-client") {
				t.Errorf("the server %s got %v", name, h)
			}
		}
		w.mu.Unlock()
	}
}

func TestKagent84AndMCPUse1623AndProwler12235AbandonedSessionsAreForgotten(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("s", member(t, "s")))
	h := streamable.HandlerWith(g, streamable.Options{MaxSessions: 10, SessionTimeout: 50 * time.Millisecond, ServeOptions: mcp.ServeOptions{Logger: quiet}})
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	begin := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	var codes []int
	for range 15 {
		codes = append(codes, begin())
	}
	if slices.Contains(codes[:10], http.StatusServiceUnavailable) || codes[14] == http.StatusOK {
		t.Errorf("of 15 sessions where 10 may be: %v", codes)
	}
	eventually(t, func() bool { return begin() == http.StatusOK })
}

// The list of servers shows why a server failed while it waits to be started again.
func TestAListSaysWhyAServerFailedThatIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		var all []*program
		for i := range 3 * runtime.GOMAXPROCS(0) { // more than may start at a time
			p := newProgram(t, fmt.Sprint("a", i), 6*time.Second)
			p.fail(errors.New("exited with status 2"))
			p.join(g, nil)
			all = append(all, p)
		}
		time.Sleep(10 * time.Minute)
		seen := map[gateway.State]bool{}
		for range 600 {
			for _, s := range g.Status() {
				if seen[s.State] = true; !s.Tried || s.Err == nil {
					t.Fatalf("the status is %+v", s)
				}
			}
			if got := missing(t, g); strings.Count(got, "exited with status 2") != len(all) {
				t.Fatalf("missing is %s", got)
			}
			time.Sleep(time.Second)
		}
		if !seen[gateway.Connecting] || !seen[gateway.Failed] {
			t.Errorf("the servers were seen as %v", seen)
		}
	})
}
