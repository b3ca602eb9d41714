package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A playedServer is a legacy server on a pair of streams that a test controls.
type playedServer struct {
	conn net.Conn
	// on is called for each message except initialize and ping, each in a goroutine of its own.
	on func(s *playedServer, m message)

	mu      sync.Mutex
	running sync.WaitGroup
	got     []message
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

func (s *playedServer) send(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.conn, fmt.Sprintf(format, args...)+"\n")
}

// received returns the messages with the method; it is empty for responses.
func (s *playedServer) received(method string) (all []message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.got {
		if m.Method == method {
			all = append(all, m)
		}
	}
	return all
}

func (s *playedServer) serve(capabilities string) {
	in := bufio.NewScanner(s.conn)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		_ = json.Unmarshal(in.Bytes(), &m)
		s.mu.Lock()
		s.got = append(s.got, m)
		s.mu.Unlock()
		if m.Method == "initialize" {
			s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"played","version":"1"}}}`, m.ID, capabilities)
			continue
		}
		if m.Method == "ping" {
			s.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			continue
		}
		s.running.Go(func() { s.on(s, m) })
	}
	s.running.Wait()
}

// played connects to a played server.
func played(t *testing.T, o mcp.ClientOptions, capabilities string, on func(s *playedServer, m message)) (*mcp.Client, *playedServer) {
	t.Helper()
	near, far := net.Pipe()
	s := &playedServer{conn: far, on: on}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.serve(capabilities)
	}()
	o.Revision = "2025-11-25"
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := mcp.DialWith(t.Context(), stream.Over(near, "played"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		far.Close()
		<-served
	})
	return c, s
}

// request returns a request of a client, for which peer answers.
func request(caller any, tool string, peer mcp.Peer) *mcp.Request {
	params, _ := json.Marshal(map[string]string{"name": tool})
	req := mcp.NewRequest("tools/call", params)
	req.Caller, req.Peer = caller, peer
	req.Meta.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}, Roots: &mcp.RootsCapability{}}
	return req
}

// askedPeer records the requests to it and accepts them.
type askedPeer struct {
	mu    sync.Mutex
	asked []string
}

func (p *askedPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

func (p *askedPeer) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q.Method)
	return json.RawMessage(`{"action":"accept","content":{}}`), nil
}

func (p *askedPeer) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.asked, " ")
}

// playedBefore is a server that logs, pings and asks before it answers initialize.
func playedBefore(t *testing.T) (net.Conn, *playedServer) {
	near, far := net.Pipe()
	s := &playedServer{conn: far, on: func(s *playedServer, m message) {
		if m.Method == "server/discover" {
			s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}}
	t.Cleanup(func() { far.Close() })
	go func() {
		s.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
		for range 300 {
			s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`)
		}
		s.send(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
	}()
	go s.serve(`{"logging":{}}`)
	return near, s
}
