package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A slowPeer is a client that takes no notification and answers nothing.
type slowPeer struct{}

func (slowPeer) Notify(ctx context.Context, _ string, _ json.RawMessage) error {
	<-ctx.Done()
	return ctx.Err()
}

func (slowPeer) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// liveHeap returns the smallest of a few measurements, as each also counts new garbage.
func liveHeap() int {
	least := math.MaxInt
	for range 8 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int(m.HeapAlloc))
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// worstUpstream sends the maximum of everything: in its description, in its lists, which change all
// the time, and in each call.
func worstUpstream(conn net.Conn, modern bool, big, huge string) {
	head := `{"jsonrpc":"2.0","id":%s,"result":{`
	if modern {
		head += `"resultType":"complete","ttlMs":86400000,"cacheScope":"public",`
	}
	about := `"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true},"logging":{},"experimental":{"x":"` + big + `"}},"serverInfo":{"name":"` + big + `","version":"1"},"instructions":"` + big + `"`
	hostileServe(conn, func(send func(string, ...any), id json.RawMessage, method string, params json.RawMessage) {
		switch {
		case method == "initialize":
			if modern {
				send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
				return
			}
			send(head+`"protocolVersion":"2025-11-25",`+about+`}}`, id)
		case method == "server/discover":
			if !modern {
				send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
				return
			}
			send(head+`"supportedVersions":["2026-07-28"],`+about+`}}`, id)
		case strings.HasSuffix(method, "/list"):
			worstList(send, head, id, method, params, big)
		case method == "tools/call":
			worstCall(send, head, id, params, big, huge)
		default:
			if len(id) > 0 {
				send(head+`"x":"%s"}}`, id, big)
			}
		}
	})
}

// worstList sends one page of a list without an end.
func worstList(send func(string, ...any), head string, id json.RawMessage, method string, params json.RawMessage, big string) {
	var n int
	if cursor, ok := jsonrpc.Unquote(jsonrpc.Get(params, "cursor")); ok {
		fmt.Sscan(cursor, &n)
	}
	kind := map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}[method]
	send(head+`"%s":[{"name":"t%d","uri":"x:%d","uriTemplate":"x%d:{a}","description":"%s","inputSchema":{"type":"object"}}],"nextCursor":"%d"}}`, id, kind, n, n, n, big, n+1)
	send(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{"x":"%s"}}}`, strings.TrimSuffix(strings.TrimSuffix(method, "/list"), "/templates"), big)
}

// worstCall floods a call with notifications and requests before it responds.
func worstCall(send func(string, ...any), head string, id, params json.RawMessage, big, huge string) {
	token := jsonrpc.Get(jsonrpc.Get(params, "_meta"), "progressToken")
	for i := range 20 {
		send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"%s"}}`, token, i, big)
		send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"%s"}}`, big)
		send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:%d%s"}}`, i, big)
		send(`{"jsonrpc":"2.0","id":"%s %d","method":"elicitation/create","params":{"message":"%s","requestedSchema":{"type":"object","properties":{}}}}`, id, i, big)
	}
	send(head+`"content":[{"type":"text","text":"%s"}]}}`, id, huge)
}

func TestTheWorstUpstreamLeavesLittleBehind(t *testing.T) {
	if threadtime.Slowdown > 2 {
		t.Skip("measures the heap, which the race detector adds to")
	}
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			big, huge := strings.Repeat("x", 1<<20), strings.Repeat("x", 4<<20)
			before := liveHeap()
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			must(t, g.Add("worst", gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
				near, far := net.Pipe()
				go worstUpstream(far, modern, big, huge)
				return mcp.DialWith(ctx, stream.Over(near, "worst"), mcp.ClientOptions{Bridge: true, Logger: quiet})
			}}))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			must(t, g.Settle(ctx))
			calling, giveUp := context.WithTimeout(ctx, 20*time.Second)
			var calls sync.WaitGroup
			for i := range 16 {
				calls.Go(func() {
					for n := range 4 {
						req := &mcp.Request{Method: "tools/call", Name: "worst__t0", Peer: slowPeer{}, Caller: i, Params: fmt.Appendf(nil, `{"name":"worst__t0","_meta":{"progressToken":%d}}`, n)}
						req.Meta.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
						g.Handle(calling, req)
					}
				})
			}
			time.Sleep(3 * time.Second)
			if held := liveHeap() - before; held > 128<<20 { // the sum of all its budgets
				t.Errorf("%d MiB are held while the clients do not read", held>>20)
			} else {
				t.Logf("%d MiB are held while the clients do not read", held>>20)
			}
			giveUp()
			calls.Wait()
			defer runtime.KeepAlive(huge)
			held := liveHeap() - before
			for i := 0; i < 40 && held > 64<<20; i++ { // the server still sends for calls that are over
				held = liveHeap() - before
			}
			if held > 64<<20 {
				t.Errorf("%d MiB are held afterwards", held>>20)
			} else {
				t.Logf("%d MiB are held afterwards", held>>20)
			}
		})
	}
}
