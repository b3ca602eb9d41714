package httpsse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
)

type hostileSlow struct{ running *atomic.Int32 }

func (h hostileSlow) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	h.running.Add(1)
	defer h.running.Add(-1)
	if req.Method == "server/discover" {
		time.Sleep(1 * time.Second)
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`)}, nil
	}
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

// A client that has disconnected must not keep others out.
func TestManyHandshakesOfOneClientBlockNoOther(t *testing.T) {
	h := hostileSlow{new(atomic.Int32)}
	s := httptest.NewServer(httpsse.Handler(h))
	defer s.Close()
	connect := func() (post func(string) int, next func() string, closeIt func()) {
		resp, err := http.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 1<<20)
		next = func() string {
			for in.Scan() {
				if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
					return data
				}
			}
			return ""
		}
		url := s.URL + next()
		return func(body string) int {
			r, err := http.Post(url, "application/json", strings.NewReader(body))
			if err != nil {
				return 0
			}
			r.Body.Close()
			return r.StatusCode
		}, next, func() { resp.Body.Close() }
	}
	initialize := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"experimental":{"x":{"y":%q}}},"clientInfo":{"name":"x","version":%q}}}`, id, strings.Repeat("x", 15<<10), strings.Repeat("y", 15<<10))
	}
	for range 4 {
		post, _, closeIt := connect()
		var posting sync.WaitGroup
		for i := range 250 {
			posting.Go(func() { post(initialize(i)) })
		}
		posting.Wait()
		closeIt()
	}
	for end := time.Now().Add(2 * time.Minute); h.running.Load() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d requests run on", h.running.Load())
		}
	}
	time.Sleep(time.Second)
	for range 2 {
		post, next, closeIt := connect()
		defer closeIt()
		post(initialize(1))
		if got := next(); strings.Contains(got, `"error"`) {
			t.Errorf("a client that comes when all others are long gone: %s", got)
		}
	}
}
