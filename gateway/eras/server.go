package eras

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const (
	methodCall   = "tools/call"
	methodListen = "subscriptions/listen"
	methodTools  = "tools/list"
	acknowledged = "notifications/subscriptions/acknowledged"
)

// Options describe how to connect to a server.
type Options struct {
	// Dial connects to the server. The parameter era is the era in which the server can send
	// requests; it is empty while that is not known. The connection is made for req, which may be
	// nil. The context ends with the Server. Dial is called a second time if a request failed
	// because the server cannot send requests in the first era.
	Dial func(ctx context.Context, req *mcp.Request, era string) (*mcp.Client, error)
	// Program is set if Dial starts a program.
	Program bool
	// Revision is the only revision that Dial uses, so that the era does not change. It is empty if
	// Dial negotiates the revision.
	Revision string
	// Lost, if not nil, is called with the error if a connection could not be made, and with the
	// client if a connection was lost.
	Lost func(c *mcp.Client, err error)
	// Advice returns the advice for the client of a failed request that was not repeated; the
	// default is [CallAgain].
	Advice func(era string) string
	// Logger gets a record when the era changes; the default is slog.Default().
	Logger *slog.Logger
}

// A Server is a connection to one server, which all calls of Handle share. The first request makes
// the connection. If the server cannot send requests in the era of the connection, the Server
// connects in the other era once no request runs. It repeats the failed request if [Repeats] allows
// that. Otherwise the outcome advises the client to call again. Subscriptions continue.
type Server struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	dialing chan struct{} // contains a value while no goroutine connects
	watched sync.WaitGroup

	mu      sync.Mutex
	client  *mcp.Client   // nil before the first request, while the era changes, and after Close
	running int           // running requests, without subscriptions
	era     string        // the era in which the server can send requests
	tried   bool          // set once the era changed, which happens at most once
	due     bool          // set if the connection has the wrong era
	retired chan struct{} // closed once the previous connection is closed; nil if there was none
}

// New returns a Server whose connections end with ctx, or with [Server.Close].
func New(ctx context.Context, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Advice == nil {
		o.Advice = func(string) string { return CallAgain }
	}
	s := &Server{options: o, dialing: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.dialing <- struct{}{}
	return s
}

// Close closes the connection. If a connection is being made, Close waits for it and closes it.
func (s *Server) Close() {
	s.cancel()
	<-s.dialing
	s.mu.Lock()
	c := s.client
	s.client = nil
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
	s.watched.Wait()
}

// Connect connects to the server unless it is connected.
func (s *Server) Connect(ctx context.Context, req *mcp.Request) error {
	select {
	case <-s.dialing:
		defer func() { s.dialing <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return mcp.ErrClosed
	}
	s.mu.Lock()
	there, era, retired := s.client != nil, s.era, s.retired
	s.mu.Unlock()
	if there {
		return nil
	}
	if retired != nil {
		<-retired
	}
	c, err := s.options.Dial(s.ctx, req, era)
	if err != nil {
		s.lost(nil, err)
		return err
	}
	s.mu.Lock()
	s.client = c
	s.mu.Unlock()
	s.watched.Go(func() {
		select {
		case <-c.Done():
			if s.current() == c {
				s.lost(c, nil)
			}
		case <-s.ctx.Done():
		}
	})
	return nil
}

func (s *Server) lost(c *mcp.Client, err error) {
	if s.options.Lost != nil {
		s.options.Lost(c, err)
	}
}

func (s *Server) current() *mcp.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// begin returns the connection for a request. If counted is set, the request counts as running
// until end is called.
func (s *Server) begin(ctx context.Context, req *mcp.Request, counted bool) (*mcp.Client, error) {
	for {
		s.mu.Lock()
		c := s.client
		if c != nil && counted {
			s.running++
		}
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		if err := s.Connect(ctx, req); err != nil {
			return nil, err
		}
	}
}

// end ends a request that begin counted. If no other request runs, it closes a connection of the
// wrong era, and reports whether it closed one.
func (s *Server) end() (closed bool) {
	s.mu.Lock()
	s.running--
	if !s.due || s.running > 0 || s.client == nil {
		s.mu.Unlock()
		return false
	}
	c, retired := s.client, make(chan struct{})
	s.client, s.due, s.retired = nil, false, retired
	s.mu.Unlock()
	c.Close()
	close(retired)
	return true
}

// changeEra records that the server can send requests only in the given era. It returns false if
// the connection has that era, or if the era has changed before.
func (s *Server) changeEra(c *mcp.Client, era string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != c || s.tried || s.era == era || s.options.Revision != "" {
		return false
	}
	s.era, s.tried, s.due = era, true, true
	s.options.Logger.Info("the server cannot ask its client in this era of the protocol, and is connected to in the other one", "server", c.Name(), "revision", c.Revision(), "era", era)
	return true
}

// Handle implements [mcp.Handler].
func (s *Server) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == methodListen {
		resumed := *req
		for {
			c, err := s.begin(ctx, req, false)
			if err != nil {
				return mcp.Result{}, err
			}
			result, err := c.Handle(ctx, &resumed)
			if s.ctx.Err() != nil || ctx.Err() != nil || s.current() == c {
				return result, err
			}
			resumed.Peer = &resumedPeer{req.Peer}
		}
	}
	result, era, again, err := s.try(ctx, req)
	if era == "" {
		return result, err
	}
	if again {
		if c, failed := s.begin(ctx, req, true); failed == nil {
			defer s.end()
			note.Repeat(ctx, "")
			return c.Handle(ctx, req)
		}
	}
	return Advised(result, err, s.options.Advice(era))
}

// try sends a request once. If the server could not send a request of its own, try returns the era
// of the next connection. The result again reports whether the request may be repeated on that
// connection now.
func (s *Server) try(ctx context.Context, req *mcp.Request) (result mcp.Result, era string, again bool, err error) {
	c, err := s.begin(ctx, req, true)
	if err != nil {
		return result, "", false, err
	}
	defer func() { again = s.end() && again }()
	result, err = c.Handle(ctx, req)
	if era = Other(c.Revision(), s.options.Program, req, result, err); era == "" || !s.changeEra(c, era) {
		return result, "", false, err
	}
	return result, era, Repeats(req, definition(ctx, c, req)), err
}

// definition returns the definition of the called tool. It returns nil for other requests, or if
// the tool is not listed.
func definition(ctx context.Context, c *mcp.Client, req *mcp.Request) json.RawMessage {
	if req.Method != methodCall {
		return nil
	}
	for tool, err := range c.List(ctx, methodTools, "tools") {
		if err != nil {
			return nil
		}
		if name, _ := jsonrpc.Unquote(jsonrpc.Get(tool, "name")); name == req.Name {
			return tool
		}
	}
	return nil
}

// A resumedPeer is the peer of a subscription that was acknowledged on an earlier connection.
// Instead of a second acknowledgement, it sends notifications of all lists, as they may have
// changed since.
type resumedPeer struct{ mcp.Peer }

// Unwrap implements the method that [mcp.PeerAs] needs.
func (p *resumedPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *resumedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method != acknowledged {
		return p.Peer.Notify(ctx, method, params)
	}
	agreed := jsonrpc.Get(params, "notifications")
	for _, list := range revision.Changes() {
		if string(jsonrpc.Get(agreed, list.Filter)) != "true" {
			continue
		}
		if err := p.Peer.Notify(ctx, list.Notification, nil); err != nil {
			return err
		}
	}
	return nil
}
