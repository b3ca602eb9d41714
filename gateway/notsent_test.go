package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// The gateway repeats a call that was not sent. It must never repeat one that was, even if the
// server ends while other calls begin.
func TestNoCallRunsTwiceAtAServerThatEndsOften(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			var mu sync.Mutex
			ran := map[string]int{}
			var count atomic.Int32
			const ok = `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
			g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
			defer g.Close()
			must(t, add(g, "shop", func(ctx context.Context) (*mcp.Client, error) {
				near, far := net.Pipe()
				go hostileServe(far, func(send func(string, ...any), id json.RawMessage, method string, params json.RawMessage) {
					switch method {
					case "initialize":
						send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}}`, id)
					case "server/discover":
						send(`{"jsonrpc":"2.0","id":%s,"result":{`+ok+`,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, id)
					case "tools/list":
						send(`{"jsonrpc":"2.0","id":%s,"result":{`+ok+`,"tools":[{"name":"buy","inputSchema":{"type":"object"}}]}}`, id)
					case "tools/call":
						var p struct{ Arguments struct{ N string } }
						_ = json.Unmarshal(params, &p)
						mu.Lock()
						ran[p.Arguments.N]++
						mu.Unlock()
						if count.Add(1)%7 == 0 {
							far.Close()
							return
						}
						send(`{"jsonrpc":"2.0","id":%s,"result":{`+ok+`,"content":[]}}`, id)
					default:
						if id != nil {
							send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, id)
						}
					}
				})
				return mcp.DialWith(ctx, stream.Over(near, "shop"), mcp.ClientOptions{Name: "shop", Revision: revision, Bridge: true, Logger: quiet})
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			must(t, g.Settle(ctx))
			c := mcp.NewClient(g)
			var calling sync.WaitGroup
			for i := range 8 {
				calling.Go(func() {
					for n := 0; n < 60 && ctx.Err() == nil; n++ {
						_, _ = c.CallTool(ctx, "buy", map[string]any{"N": fmt.Sprint(i, "-", n)})
					}
				})
			}
			calling.Wait()
			mu.Lock()
			defer mu.Unlock()
			for n, times := range ran {
				if times > 1 {
					t.Errorf("call %s ran %d times", n, times)
				}
			}
			if len(ran) < 8 { // the server has ended at least once; calls that find none fail at once
				t.Errorf("%d calls ran", len(ran))
			}
		})
	}
}
