package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// An idleServer answers the handshake of its era and the messages that answer answers. It records
// the messages it reads.
type idleServer struct {
	conn   net.Conn
	deaf   bool // reads nothing after the handshake
	answer func(m message) string

	mu  sync.Mutex
	got []string
}

func (s *idleServer) serve() {
	in := bufio.NewScanner(s.conn)
	for in.Scan() {
		var m message
		_ = json.Unmarshal(in.Bytes(), &m)
		s.mu.Lock()
		s.got = append(s.got, m.Method)
		s.mu.Unlock()
		switch m.Method {
		case "server/discover":
			if s.count(m.Method) == 1 { // later ones are pings
				s.send(fmt.Sprintf(discovered, m.ID))
			}
		case "initialize":
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"idle","version":"1"}}}`, m.ID))
		default:
			if s.answer != nil {
				if line := s.answer(m); line != "" {
					s.send(line)
				}
			}
		}
		if s.deaf && (m.Method == "server/discover" || m.Method == "notifications/initialized") {
			return
		}
	}
}

func (s *idleServer) send(line string) { _, _ = io.WriteString(s.conn, strings.TrimSpace(line)+"\n") }

// count returns the number of messages of the method.
func (s *idleServer) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got {
		if got == method {
			n++
		}
	}
	return n
}

// A blockedPeer accepts and answers nothing until its context ends.
type blockedPeer struct{}

func (blockedPeer) Notify(ctx context.Context, _ string, _ json.RawMessage) error {
	<-ctx.Done()
	return ctx.Err()
}

func (blockedPeer) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A parkedPeer is a modern client: it answers with another request.
type parkedPeer struct{ blockedPeer }

func (parkedPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.ErrInputRequired
}

func TestWaitersSeeThatTheClientIsClosed(t *testing.T) {
	const legacy, modern = "2025-11-25", "2026-07-28"
	progress := func(m message) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(m.ID) + `,"progress":1}}`
	}
	inputRequired := func(requests string) func(message) string {
		return func(m message) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{%s},"requestState":"s"}}`, m.ID, requests)
		}
	}
	for _, test := range []struct {
		name, revision string
		deaf           bool
		method         string
		calls          int
		answer         func(m message) string
		cancelled      int // requests whose cancellation reaches the server
	}{
		{name: "of calls", revision: legacy, calls: 100, cancelled: 100},
		{name: "of calls", revision: modern, calls: 100, cancelled: 100},
		{name: "of lists", revision: legacy, method: "tools/list", calls: 3, cancelled: 3},
		{name: "of lists", revision: modern, method: "tools/list", calls: 3, cancelled: 3},
		{name: "of pings", revision: legacy, method: "ping", calls: 3, cancelled: 3},
		{name: "of pings", revision: modern, method: "ping", calls: 3, cancelled: 3},
		{name: "on a server that reads nothing", revision: legacy, deaf: true, calls: 100},
		{name: "on a server that reads nothing", revision: modern, deaf: true, calls: 100},
		{name: "for changes", revision: legacy, method: "subscriptions/listen", calls: 2},
		{name: "for changes", revision: modern, method: "subscriptions/listen", calls: 2, cancelled: 2},
		{name: "for a client that is asked", revision: legacy, calls: 1, cancelled: 1,
			answer: func(m message) string { return elicitation("q" + string(m.ID)) }},
		{name: "for a client that is asked", revision: modern, calls: 3, answer: inputRequired(`"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)},
		{name: "for a user who is to visit a page", revision: legacy, calls: 3, answer: func(m message) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"first","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.example/","message":"?"}]}}}`, m.ID)
		}},
		{name: "for the next round", revision: modern, calls: 3, answer: inputRequired("")},
		{name: "for a client that takes no notification", revision: legacy, calls: 3, answer: progress, cancelled: 3},
		{name: "for a client that takes no notification", revision: modern, calls: 3, answer: progress, cancelled: 3},
	} {
		t.Run(test.name+" "+test.revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				s := &idleServer{conn: far, deaf: test.deaf, answer: func(m message) string {
					if m.Method == "tools/call" && test.answer != nil {
						return test.answer(m)
					}
					return ""
				}}
				served := make(chan struct{})
				go func() {
					s.serve()
					close(served)
				}()
				c, err := mcp.DialWith(t.Context(), stream.Over(near, "idle"), mcp.ClientOptions{Bridge: true, Revision: test.revision, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan time.Time, test.calls)
				var calling sync.WaitGroup
				for n := range test.calls {
					calling.Go(func() {
						req := request(n, "x", blockedPeer{})
						req.Meta.ProgressToken = json.RawMessage("1")
						if test.method != "" {
							req.Method, req.Params, req.Peer = test.method, json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), &askedPeer{}
						}
						_, err := c.Handle(t.Context(), req)
						ended <- time.Now()
						if !errors.Is(err, mcp.ErrClosed) || !strings.Contains(err.Error(), "idle") {
							t.Errorf("a call: %v; want that the client of this server was closed", err)
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				done := make(chan time.Time, 1)
				go func() {
					<-c.Done()
					done <- time.Now()
				}()
				c.Close()
				if took := (<-done).Sub(began); took > 0 {
					t.Errorf("the client was done after %v", took)
				}
				if took := time.Since(began); took > 800*time.Millisecond || !test.deaf && took > 300*time.Millisecond {
					t.Errorf("closing took %v", took)
				}
				calling.Wait()
				close(ended)
				for at := range ended {
					if took := at.Sub(began); took > 0 {
						t.Errorf("a call ended after %v", took)
						break
					}
				}
				<-served
				if got := s.count("notifications/cancelled"); got != test.cancelled {
					t.Errorf("the server got %d cancellations, want %d", got, test.cancelled)
				}
				if _, err := c.Handle(t.Context(), request(nil, "x", blockedPeer{})); !errors.Is(err, mcp.ErrClosed) {
					t.Errorf("a call after the end: %v", err)
				}
				far.Close()
			})
		})
	}
}

// The server still has a call that waits for its client to come back.
func TestParkedCallsAreCancelledAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
			if m.Method == "tools/call" {
				s.send("%s", elicitation("q"))
			}
		})
		if _, err := c.Handle(t.Context(), request(nil, "x", parkedPeer{})); !errors.Is(err, mcp.ErrInputRequired) {
			t.Fatal(err)
		}
		c.Close()
		synctest.Wait()
		if !slices.ContainsFunc(s.received("notifications/cancelled"), func(m message) bool { return strings.Contains(string(m.Params), `"requestId":`) }) {
			t.Error("the server did not hear of the end")
		}
	})
}

func TestAClientThatIsClosedTwiceAtTheSameTimeIsClosedAtOnce(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			s := &idleServer{conn: far}
			go s.serve()
			c, err := mcp.DialWith(t.Context(), stream.Over(near, "idle"), mcp.ClientOptions{Bridge: true, Revision: "2026-07-28", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			var running sync.WaitGroup
			for n := range 4 {
				running.Go(func() { _, _ = c.Handle(t.Context(), request(n, "x", blockedPeer{})) })
			}
			synctest.Wait()
			began := time.Now()
			for range 2 {
				running.Go(func() { c.Close() })
			}
			running.Wait()
			if took := time.Since(began); took > 0 {
				t.Fatalf("it took %v", took)
			}
			far.Close()
		})
	}
}
