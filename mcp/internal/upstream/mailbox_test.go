package upstream_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// The messages that a server sends to a slow client must stay bounded, in bytes.
func TestRequestsThatWaitForASlowClientAreBoundedInBytes(t *testing.T) {
	var sent atomic.Int32
	big := strings.Repeat("x", 1<<20)
	const n = 400
	bridge, _ := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{},"logging":{}}`, func(s *playedServer, m message) {
		if m.Method != "tools/call" {
			return
		}
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		time.Sleep(100 * time.Millisecond)
		for range n {
			s.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"%s","requestedSchema":{"type":"object","properties":{}}}}`, big)
			s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
			sent.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	peer := &hostilePeer{notify: func(ctx context.Context, _ string, _ json.RawMessage) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	go bridge.Handle(ctx, request("slow", "x", peer))
	for i := 0; i < 200 && sent.Load() < n; i++ {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 100<<20 {
		t.Errorf("%d MiB are held after the server sent %d requests that it took back, one at a time", m.HeapAlloc>>20, sent.Load())
	}
	cancel()
}
