package gateway_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// telling returns a server whose tool sends three progress notifications and a log message right
// before its result.
func telling() *mcp.Server {
	s := mcp.NewServerWith("telling", "1", mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(s, "tell", func(ctx context.Context, in struct {
		Who string `json:"who"`
	}) (string, error) {
		for i := range 3 {
			if err := mcp.Progress(ctx, float64(i+1), 3, in.Who); err != nil {
				return "", err
			}
		}
		return in.Who, mcp.Log(ctx, mcp.LogWarning, in.Who)
	})
	return s
}

// reach serves a Handler over a transport, and returns a function that makes a Transport to it.
func reach(t *testing.T, over string, h mcp.Handler) func() mcp.Transport {
	t.Helper()
	switch over {
	case "stream":
		return func() mcp.Transport { return stream.Pipe(h) }
	case "HTTP":
		endpoint := streamable.HandlerWith(h, streamable.Options{ServeOptions: mcp.ServeOptions{Logger: quiet}})
		server := httptest.NewServer(endpoint)
		t.Cleanup(func() { endpoint.Close(); server.Close() })
		return func() mcp.Transport {
			return streamable.ClientWith(server.URL, streamable.ClientOptions{Logger: quiet})
		}
	default:
		endpoint := httpsse.HandlerWith(h, httpsse.Options{ServeOptions: mcp.ServeOptions{Logger: quiet}})
		server := httptest.NewServer(endpoint)
		t.Cleanup(func() { endpoint.Close(); server.CloseClientConnections(); server.Close() })
		return func() mcp.Transport { return httpsse.Client(server.URL + "/sse") }
	}
}

// Messages of a server about a call reach the client before the call returns, complete and in
// order. This holds through the gateway, and through a Client that is the back of a proxy, over
// each transport and in both eras.
func TestMessagesOfACallArriveBeforeItsResult(t *testing.T) {
	for _, test := range []struct {
		front, behind string // HTTP+SSE has no modern era
		calls         int    // of each of 16 clients
	}{
		{"stream", "stream", 200},
		{"HTTP", "HTTP", 20},
		{"HTTP", "stream", 20},
		{"stream", "HTTP", 20},
		{"SSE", "stream", 20},
		{"stream", "SSE", 20},
		{"SSE", "SSE", 20},
	} {
		for _, front := range []string{"2025-11-25", "2026-07-28"} {
			for _, behind := range []string{"2025-11-25", "2026-07-28"} {
				if test.front == "SSE" && front == "2026-07-28" || test.behind == "SSE" && behind == "2026-07-28" {
					continue
				}
				for _, way := range []string{"gateway", "proxy"} {
					t.Run(fmt.Sprintf("%s, client %s over %s, server %s over %s", way, front, test.front, behind, test.behind), func(t *testing.T) {
						dial := reach(t, test.behind, telling())
						back := mcp.ClientOptions{Name: "back", Revision: behind, Bridge: true, Logger: quiet, LogLevel: mcp.LogDebug}
						var h mcp.Handler
						if way == "gateway" {
							g := gateway.New(gateway.Options{Logger: quiet, NoPrefix: true})
							t.Cleanup(func() { g.Close() })
							must(t, g.Add("telling", gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
								return mcp.DialWith(ctx, dial(), back)
							}}))
							must(t, g.Settle(t.Context()))
							h = g
						} else {
							c, err := mcp.DialWith(t.Context(), dial(), back)
							must(t, err)
							t.Cleanup(func() { c.Close() })
							h = c
						}
						calls := test.calls
						if testing.Short() {
							calls /= 5
						}
						tellAll(t, reach(t, test.front, h), front, calls, test.behind == "HTTP")
					})
				}
			}
		}
	}
}

// tellAll calls the tool from 16 clients at once. Over a stream and HTTP+SSE a log message names no
// call, so it reaches a client only while no call of another client runs. The parameter logs is set
// if all messages must arrive.
func tellAll(t *testing.T, dial func() mcp.Transport, revision string, calls int, logs bool) {
	t.Helper()
	var running sync.WaitGroup
	for i := range 16 {
		running.Go(func() {
			var mu sync.Mutex
			var seen []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, what)
			}
			c, err := mcp.DialWith(t.Context(), dial(), mcp.ClientOptions{
				Revision: revision, Logger: quiet, LogLevel: mcp.LogDebug,
				OnLog: func(m mcp.LogMessage) { note("log " + string(m.Data)) },
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for n := range calls {
				who := fmt.Sprintf("%d.%d", i, n)
				ctx := mcp.WatchProgress(t.Context(), func(p mcp.ProgressUpdate) { note(fmt.Sprintf("%v %s", p.Progress, p.Message)) })
				said, err := mcp.Call[string](ctx, c, "tell", map[string]string{"who": who})
				want := []string{"1 " + who, "2 " + who, "3 " + who, fmt.Sprintf("log %q", who)}
				mu.Lock()
				got := seen
				seen = nil
				mu.Unlock()
				if !logs && len(got) == 3 {
					want = want[:3]
				}
				if err != nil || said != who || !slices.Equal(got, want) {
					t.Errorf("call %s said %q, %v, after %q, want %q", who, said, err, got, want)
					return
				}
			}
		})
	}
	running.Wait()
}
