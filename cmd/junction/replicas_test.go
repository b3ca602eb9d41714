package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// replicas are several junction up with one configuration and nothing else in common, behind a
// balancer that never chooses the same one twice in a row.
type replicas struct {
	*world  // of the configuration
	all     []*startedCommand
	origins []string
	metrics []string          // admin addresses of those that share a store
	server  string            // URL of the server behind them
	url     string            // of the balancer
	next    atomic.Int64      // counts requests of the balancer
	left    atomic.Int64      // 1 + the index of the replica that the balancer leaves out; 0 for none
	refused atomic.Int64      // responses with an error
	last    atomic.Value      // describes one of them
	through http.RoundTripper // of the balancer; nil means the default one
}

// startReplicas starts three of them, with settings in which KEYS stands for the state keys.
func startReplicas(t *testing.T, keys string) *replicas {
	w := &replicas{world: newWorld(t), server: replicatedServer(t)}
	w.write("old", strings.Repeat("o", 32)+"\n")
	w.write("new", strings.Repeat("n", 32)+"\n")
	w.write("short", "short\n")
	w.configure(keys)
	for range 3 {
		one := newWorld(t).start("up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", "127.0.0.1:0")
		w.all = append(w.all, one)
	}
	for _, one := range w.all {
		w.origins = append(w.origins, strings.TrimSuffix(strings.Fields(one.find(`junction serves at http\S+`))[3], "/mcp"))
	}
	proxies := w.proxies()
	balancer := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serveByTurns(proxies, rw, r) }))
	t.Cleanup(balancer.Close)
	w.url = balancer.URL + "/mcp"
	return w
}

// proxies returns a proxy for each replica.
func (w *replicas) proxies() (proxies []*httputil.ReverseProxy) {
	for _, origin := range w.origins {
		at, err := url.Parse(origin)
		if err != nil {
			w.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(at)
		proxy.Transport = w.through
		proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0) // clients leave streams early
		proxy.ErrorHandler = func(rw http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // the client waits for the response; one that closes does not
				rw.WriteHeader(http.StatusBadGateway)
				w.last.Store(err.Error())
			}
		}
		proxies = append(proxies, proxy)
	}
	return proxies
}

// serveByTurns serves a request by the next replica.
func (w *replicas) serveByTurns(proxies []*httputil.ReverseProxy, rw http.ResponseWriter, r *http.Request) {
	at := int(w.next.Add(1)) % len(proxies)
	if at == int(w.left.Load())-1 {
		at = (at + 1) % len(proxies)
	}
	proxies[at].ServeHTTP(&refusals{rw, w, r.Method}, r)
}

// configure writes the configuration.
func (w *replicas) configure(keys string, peers ...string) {
	others := ""
	if len(peers) > 0 {
		others = fmt.Sprintf(`"peers":["%s"],`, strings.Join(peers, `","`))
	}
	w.write("mcp.json", fmt.Sprintf(`{"junction":{%s"names":"none","stateKeys":%s},"mcpServers":{"s":{"url":%q}}}`, others, keys, w.server))
}

// use writes another configuration, and waits until all read it.
func (w *replicas) use(keys string, peers ...string) {
	w.Helper()
	printed := make([]int, len(w.all))
	for i, one := range w.all {
		printed[i] = len(one.printed.String())
	}
	w.configure(keys, peers...)
	for i, one := range w.all {
		if !one.waitFor(func() bool { return strings.Contains(one.printed.String()[printed[i]:], "onfiguration") }) {
			w.Fatalf("%s is not read", keys)
		}
	}
}

// refusals count responses with an error; 405 is that of no stream.
type refusals struct {
	http.ResponseWriter
	of     *replicas
	method string
}

func (r *refusals) WriteHeader(status int) {
	if status >= 400 && status != http.StatusMethodNotAllowed {
		r.of.refused.Add(1)
		r.of.last.Store(fmt.Sprint(r.method, " ", status))
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *refusals) Write(b []byte) (int, error) {
	if was, _ := r.of.last.Load().(string); was != "" && bytes.Contains(b, []byte(`"error"`)) {
		r.of.last.Store(was + " " + string(b))
	}
	return r.ResponseWriter.Write(b)
}

func (r *refusals) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// replicatedServer starts a server, and returns its URL. Calls of its tool dig are tasks.
func replicatedServer(t *testing.T) string {
	tools := mcp.NewServer("s", "1")
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(tools, "echo", func(_ context.Context, in text) (string, error) { return in.Text, nil })
	mcp.AddTool(tools, "ask", func(ctx context.Context, in text) (string, error) {
		answer, err := mcp.Elicit[text](ctx, in.Text)
		return answer.Text, err
	})
	mcp.AddTool(tools, "dig", func(_ context.Context, in text) (string, error) {
		time.Sleep(300 * time.Millisecond)
		return in.Text, nil
	})
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}, Poll: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := streamable.Handler(long.Middleware()(tools))
	served := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "legacy" && r.Header.Get("MCP-Protocol-Version") == "2026-07-28" {
			http.Error(rw, "no such revision", http.StatusBadRequest)
			return
		}
		endpoint.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() { served.Close(); long.Close() })
	return served.URL
}

// dial connects a client that answers a question with its text.
func (w *replicas) dial(revision string) (*mcp.Client, error) {
	return mcp.DialWith(w.Context(), streamable.Client(w.url), mcp.ClientOptions{Revision: revision, OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(fmt.Sprintf(`{"text":%q}`, req.Message))}, nil
	}})
}

// TestReplicasServeEveryClient has 1,000 calls of clients of each revision over HTTP reach other replicas by turns. Modern clients
// respond to requests at another replica than the one that asked, and legacy clients do once the replicas know their peers.
func TestReplicasServeEveryClient(t *testing.T) {
	t.Parallel()
	w := startReplicas(t, `["${file:old}"]`)
	for revision, tool := range map[string]string{"2025-03-26": "echo", "2025-06-18": "echo", "2025-11-25": "echo", "2026-07-28": "ask"} {
		t.Run(revision, func(t *testing.T) { w.callOften(t, revision, tool, 125) })
	}
	w.use(`["${file:old}"]`, w.origins...)
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision+" with peers", func(t *testing.T) { w.callOften(t, revision, "ask", 25) })
	}
}

// callOften has 8 clients call a tool so often each, or a fifth of it with -short.
func (w *replicas) callOften(t *testing.T, revision, tool string, times int) {
	if testing.Short() {
		times = max(1, times/5)
	}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			c, err := w.dial(revision)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for j := range times {
				want := fmt.Sprint(i, " ", j)
				if r, err := c.CallTool(t.Context(), tool, map[string]any{"text": want}); err != nil || r.Text() != want {
					t.Errorf("%s %s: %v, %v", tool, want, r, err)
					return
				}
			}
		})
	}
	running.Wait()
	if n := w.refused.Swap(0); n > 0 {
		t.Errorf("%d requests were refused, such as %v", n, w.last.Load())
	}
}

// TestRoundsOfALegacyServerReachTheirReplica has modern clients of a legacy server respond at another replica than the one where
// their call waits.
func TestRoundsOfALegacyServerReachTheirReplica(t *testing.T) {
	t.Parallel()
	w := startReplicas(t, `["${file:old}"]`)
	w.server += "?legacy"
	w.use(`["${file:old}"]`, w.origins...)
	w.callOften(t, "2026-07-28", "ask", 25)
}

// TestStateKeysOfReplicasAreRotated changes the keys while a client has a session.
func TestStateKeysOfReplicasAreRotated(t *testing.T) {
	t.Parallel()
	w := startReplicas(t, `["${file:old}"]`)
	c, err := w.dial("2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(when string, refused int64) {
		t.Helper()
		for range 6 {
			if r, err := c.CallTool(t.Context(), "echo", map[string]any{"text": when}); err != nil || r.Text() != when {
				t.Errorf("%s: %v, %v", when, r, err)
			}
		}
		if n := w.refused.Swap(0); (n > 0) != (refused > 0) {
			t.Errorf("%s: %d requests were refused", when, n)
		}
	}
	call("with the old key", 0)
	w.use(`["${file:old}","${file:new}"]`)
	call("with the new key known", 0)
	w.use(`["${file:new}","${file:old}"]`)
	call("with the new key sealing", 0)
	w.use(`["${file:short}"]`)
	for _, one := range w.all {
		one.find(`the changed configuration cannot be used, .*junction\.stateKeys\[0\]: expected at least 32 bytes, got 5`)
	}
	call("with a key that cannot be used", 0)
	w.use(`["${file:new}"]`)
	call("with the old key gone", 1) // the client begins a new session
}
