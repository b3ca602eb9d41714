package upstream_test

import (
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A client caches a result without the other content of its message.
func TestACachedResultKeepsNothingOfItsMessage(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := &idleServer{conn: far, answer: func(m message) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","junk":"%s","id":%s,"result":{"resultType":"complete","contents":[{"uri":"a:","text":"x"}],"ttlMs":1000000,"cacheScope":"private","_meta":{"a/b":1}}}`, strings.Repeat("x", 4<<20), m.ID)
	}}
	go s.serve()
	c, err := mcp.DialWith(t.Context(), stream.Over(near, "generous"), mcp.ClientOptions{Revision: "2026-07-28", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for i := range 2 * 16 {
		if _, err := c.ReadResource(t.Context(), fmt.Sprintf("a:%d", i%16)); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.count("resources/read"); n != 16 {
		t.Errorf("%d reads came to the server: nothing was cached", n)
	}
	if n := heap() - before; n > 24<<20 {
		t.Errorf("%d MiB are kept of 16 small results", n>>20)
	}
}
