package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// An askingServer is a legacy server that asks for the roots when one of some messages comes. It
// may have no list before it gets a response or an error. Its tool returns the last one.
type askingServer struct {
	conn net.Conn
	asks []string // the methods of the messages at which it asks
	slow bool     // is set if it lists nothing before it got a response
	more int      // counts further requests for the roots after that, one after the other

	mu       sync.Mutex
	got      string
	refused  int
	answered chan struct{} // is closed with the first response
}

func (s *askingServer) serve() {
	in := bufio.NewScanner(s.conn)
	var listing sync.WaitGroup
	defer listing.Wait()
	asked := 0
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Roots []mcp.Root }
			Error  json.RawMessage
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		reply := func(result string) { fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		ask := func() {
			asked++
			fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","id":"roots-%d","method":"roots/list"}`+"\n", asked)
		}
		if slices.Contains(s.asks, m.Method) {
			ask()
		}
		switch m.Method {
		case "initialize":
			reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"roots","version":"1"}}`)
		case "tools/list":
			listing.Go(func() {
				if s.slow {
					<-s.answered
				}
				reply(`{"tools":[{"name":"roots","inputSchema":{"type":"object"}}]}`)
			})
		case "tools/call":
			s.mu.Lock()
			reply(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s.got))
			s.mu.Unlock()
		case "":
			s.mu.Lock()
			switch s.more--; {
			case s.more >= 0:
				ask()
			case s.more == -1:
				close(s.answered)
			}
			if s.got = "refused"; m.Error == nil && len(m.Result.Roots) == 1 {
				s.got = m.Result.Roots[0].URI
			} else {
				s.refused++
			}
			s.mu.Unlock()
		}
	}
}

// A modern client can only be asked in a call, and makes none before it has seen the tools. If a
// server lists them only after it got the roots, the gateway refuses its request, and makes it ask
// again in the first call.
func TestAServerThatWantsTheRootsBeforeItListsItsToolsListsThemToAModernClient(t *testing.T) {
	for _, test := range []struct {
		name    string
		server  *askingServer
		within  time.Duration
		refused int
	}{
		{"it asks at its start and waits", &askingServer{asks: []string{"notifications/initialized", "notifications/roots/list_changed"}, slow: true}, 2 * time.Second, 1},
		{"it asks when it is to list", &askingServer{asks: []string{"tools/list", "notifications/roots/list_changed"}, slow: true}, 2 * time.Second, 1},
		{"it asks once more for each tool", &askingServer{asks: []string{"tools/list", "notifications/roots/list_changed"}, slow: true, more: 14}, 2 * time.Second, 15},
		{"it asks at its start and lists", &askingServer{asks: []string{"notifications/initialized"}}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				s := test.server
				s.conn, s.answered = far, make(chan struct{})
				served := make(chan struct{})
				go func() { defer close(served); s.serve() }()
				g := gateway.New(gateway.Options{OneClient: true, NoPrefix: true, Logger: quiet})
				must(t, g.Add("roots", gateway.Upstream{Dial: func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
					return mcp.DialWith(ctx, stream.Over(near, "roots"), mcp.ClientOptions{Name: "roots", Revision: "2025-11-25", Bridge: true, OneClient: start.Client(), Logger: quiet})
				}}))
				c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: "2026-07-28", Logger: quiet,
					OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil }})
				must(t, err)
				began, tools := time.Now(), 0
				for _, err := range c.Tools(t.Context()) {
					must(t, err)
					tools++
				}
				if took := time.Since(began); tools != 1 || took > test.within {
					t.Errorf("it lists %d tools after %v, want 1 within %v", tools, took, test.within)
				}
				if text, err := mcp.Call[string](t.Context(), c, "roots", nil); err != nil || text != "file:///a" {
					t.Errorf("in the call it has the roots %q, %v", text, err)
				}
				s.mu.Lock()
				if s.refused != test.refused {
					t.Errorf("it was refused the roots %d times, want %d", s.refused, test.refused)
				}
				s.mu.Unlock()
				c.Close()
				g.Close()
				far.Close()
				<-served
			})
		})
	}
}
