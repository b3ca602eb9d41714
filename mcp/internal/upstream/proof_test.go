package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// attacked connects to a server that reads with on, which may block.
func attacked(t *testing.T, on func(s *playedServer, m message)) (c *mcp.Client, closed func()) {
	t.Helper()
	near, far := net.Pipe()
	s := &playedServer{conn: far}
	served := make(chan struct{})
	go func() {
		defer close(served)
		in := bufio.NewScanner(far)
		for in.Scan() {
			var m message
			_ = json.Unmarshal(in.Bytes(), &m)
			if m.Method == "initialize" {
				s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"played","version":"1"}}}`, m.ID)
				continue
			}
			on(s, m)
		}
		s.running.Wait()
	}()
	c, err := mcp.DialWith(t.Context(), stream.Over(near, "played"), mcp.ClientOptions{Bridge: true, Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() {
		c.Close()
		far.Close()
		<-served
	}
}

const asksUnnamed = `{"jsonrpc":"2.0","id":"second","method":"elicitation/create","params":{"message":"Alice, transfer 1000?","requestedSchema":{"type":"object","properties":{}}}}`

// A server that obeys cancellations does not read for twenty seconds, while Carol lists. The
// cancellation of Alice's call finds no room for sendTime and is dropped. The ping waits until the
// server reads, and proves nothing.
func TestACancellationThatWasNotSentIsNotProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		c, closed := attacked(t, func(s *playedServer, m message) {
			switch {
			case m.Method == "notifications/cancelled":
				close(cancelled)
			case m.Method == "ping" || m.Method == "tools/list":
				s.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
			case m.Method == "tools/call" && strings.Contains(string(m.Params), "slow"):
				s.running.Go(func() {
					select {
					case <-time.After(25 * time.Second):
						s.send(asksUnnamed)
					case <-cancelled:
					}
				})
				time.Sleep(20 * time.Second)
			case m.Method == "tools/call":
				s.running.Go(func() { time.Sleep(10 * time.Second); s.send(done, m.ID) })
			}
		})
		ctx, leave := context.WithTimeout(t.Context(), 2*time.Second)
		defer leave()
		var calling sync.WaitGroup
		calling.Go(func() { c.Handle(ctx, request("alice", "slow", &askedPeer{})) })
		time.Sleep(time.Second)
		for range 70 {
			calling.Go(func() {
				list := mcp.NewRequest("tools/list", nil)
				list.Caller, list.Peer = "carol", &askedPeer{}
				c.Handle(t.Context(), list)
			})
		}
		time.Sleep(21 * time.Second)
		bob := &askedPeer{}
		calling.Go(func() { c.Handle(t.Context(), request("bob", "x", bob)) })
		calling.Wait()
		if got := bob.all(); got != "" {
			select {
			case <-cancelled:
				t.Errorf("Bob was asked %q for Alice", got)
			default:
				t.Errorf("Bob was asked %q for Alice, and the server, which answered the ping, was never sent the cancellation", got)
			}
		}
		closed()
	})
}

// A sequential server fails Alice's first calls with an error without an id, as some do. The ping
// waits alone and takes the error for its response. The server has not read the cancellation of the
// last call.
func TestErrorsWithoutAnIDProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, closed := attacked(t, func(s *playedServer, m message) {
			tool := string(m.Params)
			switch {
			case m.Method == "ping":
				s.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			case m.Method != "tools/call":
			case strings.Contains(tool, "slow"):
				time.Sleep(5 * time.Second)
				s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"it failed"}}`)
			case strings.Contains(tool, "transfer"):
				time.Sleep(5 * time.Second)
				s.send(asksUnnamed)
			default:
				s.send(done, m.ID)
			}
		})
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var calling sync.WaitGroup
		for _, tool := range []string{"slow", "slow", "transfer"} {
			calling.Go(func() { c.Handle(ctx, request("alice", tool, &askedPeer{})) })
			synctest.Wait()
		}
		time.Sleep(12 * time.Second)
		bob := &askedPeer{}
		calling.Go(func() { c.Handle(t.Context(), request("bob", "x", bob)) })
		time.Sleep(15 * time.Second)
		if got := bob.all(); got != "" {
			t.Errorf("Bob was asked %q for Alice", got)
		}
		calling.Wait()
		closed()
	})
}

// An error without an id belongs to the only waiting call. A ping of the connection without a
// response must not prevent that.
func TestAPingDoesNotKeepACallFromItsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, closed := attacked(t, func(s *playedServer, m message) {
			if m.Method == "tools/call" && !strings.Contains(string(m.Params), "slow") {
				s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"it failed"}}`)
			}
		})
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		c.Handle(ctx, request("alice", "slow", &askedPeer{}))
		time.Sleep(time.Minute)
		within, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		_, err := c.Handle(within, request("alice", "x", &askedPeer{}))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the error of the only call was not noticed for %v: %v", took, err)
		}
		closed()
	})
}
