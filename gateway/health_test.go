package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A server that no longer answers pings is restarted, and one that is only busy is not.
func TestAMemberThatAnswersNoPingIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts, pings atomic.Int64
		var silent atomic.Bool
		hold := make(chan struct{})
		dial := func(ctx context.Context) (*mcp.Client, error) {
			starts.Add(1)
			silent.Store(false)
			near, far := net.Pipe()
			go hostileServe(far, func(send func(string, ...any), id json.RawMessage, method string, _ json.RawMessage) {
				if method == "ping" {
					pings.Add(1)
				}
				result := `{}`
				switch method {
				case "initialize":
					result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
				case "tools/list":
					result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
				case "tools/call":
					<-hold
					result = `{"content":[]}`
				}
				if id != nil && !silent.Load() {
					send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
				}
			})
			return mcp.DialWith(ctx, stream.Over(near, "s"), mcp.ClientOptions{Name: "s", Revision: "2025-06-18", Bridge: true, Timeout: -1, Logger: quiet})
		}
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, add(g, "s", dial))
		must(t, g.Settle(t.Context()))
		time.Sleep(10 * time.Minute)
		if starts.Load() != 1 || pings.Load() < 8 {
			t.Errorf("it was started %d times, and pinged %d times", starts.Load(), pings.Load())
		}

		ended := make(chan error, 1)
		go func() {
			_, err := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1}).CallTool(t.Context(), "s__t", nil)
			ended <- err
		}()
		time.Sleep(time.Second)
		silent.Store(true) // no ping is due while a call runs
		time.Sleep(10 * time.Minute)
		if starts.Load() != 1 {
			t.Errorf("it was started %d times while it was busy", starts.Load())
		}
		silent.Store(false)
		close(hold)
		must(t, <-ended)

		silent.Store(true)
		time.Sleep(5 * time.Minute)
		if starts.Load() != 2 {
			t.Errorf("it was started %d times", starts.Load())
		}
		synctest.Wait()
		if s := g.Status()[0]; s.State != gateway.Connected {
			t.Errorf("it is %v: %v", s.State, s.Err)
		}
	})
}
