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

// Options say how a server is connected to.
type Options struct {
	// Dial connects to the server. era is the one in which it can ask; empty while nothing is known of that. req is the
	// request that the connection is made for; nil for none. ctx ends with the Server. It is called again, once, after a
	// request failed as the server cannot ask.
	Dial func(ctx context.Context, req *mcp.Request, era string) (*mcp.Client, error)
	// Program says that Dial starts a program.
	Program bool
	// Revision is the only one that Dial speaks, so that the era does not change; empty where it finds out.
	Revision string
	// Lost, if not nil, is called when a connection could not be made, with its error, or was lost, with the client.
	Lost func(c *mcp.Client, err error)
	// Advice is for the client of a request that failed and was not made again; default [CallAgain].
	Advice func(era string) string
	// Logger gets a record where the era changes; default slog.Default().
	Logger *slog.Logger
}

// A Server is a connection to one server, for all who call Handle. It is made with the first request. Where the server cannot
// ask in the era of the connection, it is connected to in the other era as soon as none of its requests runs. The failed
// request is made again if [Repeats] says so; the outcome of another one says that the client can call again. Subscriptions go on.
type Server struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	dialing chan struct{} // has a value while nobody connects
	watched sync.WaitGroup

	mu      sync.Mutex
	client  *mcp.Client   // nil before the first request, while the era changes, and at the end
	running int           // its requests, but for subscriptions
	era     string        // in which the server can ask
	tried   bool          // the era changed, which it does once
	due     bool          // the connection is of the other era
	retired chan struct{} // closed once the connection before is closed; nil if there is none
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

// Close closes the connection, once it is made if that is under way.
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

// Connect connects to the server where nothing is connected yet.
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

// begin returns the connection for a request, which counts as running until end where counted says so.
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

// end is the end of a request that begin counted. It closes a connection of the other era if no other request runs, and
// reports whether it did.
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

// turn notes that the server can ask in an era only; false if its connection is of that era already, or the era changed before.
func (s *Server) turn(c *mcp.Client, era string) bool {
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

// try makes a request once. Where the server could not ask, era is the one in which it is connected to next; again reports whether the
// request may be made in that one now.
func (s *Server) try(ctx context.Context, req *mcp.Request) (result mcp.Result, era string, again bool, err error) {
	c, err := s.begin(ctx, req, true)
	if err != nil {
		return result, "", false, err
	}
	defer func() { again = s.end() && again }()
	result, err = c.Handle(ctx, req)
	if era = Other(c.Revision(), s.options.Program, req, result, err); era == "" || !s.turn(c, era) {
		return result, "", false, err
	}
	return result, era, Repeats(req, definition(ctx, c, req)), nil
}

// definition is what the server says of the tool that a request calls; nil for other requests, or where it is not listed.
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

// A resumedPeer is the peer of a subscription that was acknowledged before: whatever it lists may have changed since.
type resumedPeer struct{ mcp.Peer }

// Unwrap is for [mcp.PeerAs].
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
