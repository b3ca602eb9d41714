package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/toolsearch"
	"golang.org/x/time/rate"
)

// Server is a server whose tools the model can be given.
type Server struct {
	// Name is the person's name for it: what tools are prefixed with, what rules
	// and approvals are about.
	Name string
	// Handler answers for it where it is in this process: an [mcp.Server], an [mcp.Client]. It is
	// nil for a server of [Options].Gateway.
	Handler mcp.Handler
	// Trusted is for servers that the person would vouch for: their definitions
	// need no review, their annotations are believed, their results are not
	// taken for somebody else's text (but where a tool says itself that it deals
	// with the outside world).
	Trusted bool
	// Public is for servers that have nothing private: a search engine, a weather service.
	Public bool
	// Origin is the command line or the URL, with the version of the package where
	// it is known. It is shown and pinned, and rules that cards write hold for it only.
	Origin []string
	// Local is for a program on this machine that runs as the person, so that what they attach is
	// no secret to it: no reason to ask about what claims to read, and to stay on this machine.
	Local bool
	// Stderr are the last lines that the server's program wrote to its standard error; nil means
	// that nobody keeps them.
	Stderr func() []string
	// Prefixed is for a gateway, whose tools are named SERVER__TOOL: cards and rules
	// then name the server behind it.
	Prefixed bool
}

// The states of a server.
const (
	StateConnected  = "connected"
	StateConnecting = "connecting"
	StateFailed     = "failed"
	StateUnapproved = "unapproved" // a person must see its definitions first
)

// A server is a Server and what it offers.
type server struct {
	Server
	host    *Host
	client  *mcp.Client
	settled chan struct{} // closed when its lists were read, or could not be, once
	settle  func()        // closes it
	look    chan struct{} // of capacity 1: somebody waits for what it offers now

	vouched    atomic.Bool   // the person trusts it now
	unprompted atomic.Int32  // requests that belong to no call
	notices    *rate.Limiter // that its tools changed

	mu       sync.RWMutex
	offer    offer
	from     *definitions.Definitions // what that was made of; nil while it offers nothing
	taken    chan struct{}            // closed, and made new, when offer is replaced
	listed   bool
	err      error
	reported string // what is wrong with its lists, as the person was notified

	unlisted int // skills that were found by their URIs
}

// Capabilities are what a Host declares that servers can ask it. A connection
// that is made for a Host alone declares the same; see [mcp.ClientOptions.OneClient].
func Capabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		Roots:       &mcp.RootsCapability{},
		Sampling:    &mcp.SamplingCapability{Tools: &struct{}{}},
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
	}
}

func newServer(h *Host, s Server) *server {
	srv := &server{Server: s, host: h, settled: make(chan struct{}), look: make(chan struct{}, 1), taken: make(chan struct{}), notices: rate.NewLimiter(rate.Every(toolNoticeTime), maxToolNotices)}
	srv.settle = sync.OnceFunc(func() { close(srv.settled) })
	srv.vouched.Store(s.Trusted)
	o := mcp.ClientOptions{
		Info:        mcp.Implementation{Name: "junction", Title: "Junction"},
		Name:        s.Name,
		OnElicit:    srv.elicit,
		ElicitURL:   true,
		OnSample:    srv.sample,
		SampleTools: true,
		OnRoots:     func(context.Context) ([]mcp.Root, error) { return h.options.Roots, nil },
		LogLevel:    mcp.LogInfo,
		OnLog:       func(mcp.LogMessage) {}, // attribution hears them
		Middleware:  []mcp.Middleware{attribute, tasks.Wait(tasks.WaitOptions{OnTask: srv.onTask, OnLook: srv.onLook, Leave: leavesTask})},
		Logger:      h.log,
	}
	if s.Name == OwnServer {
		o.Timeout = -1 // a sub-agent takes its time; the run's limits are for it
	}
	made, handler := false, h.gateway.Server(s.Name) // a client that is made asks what its handler is, and one that never answers would hold up everything
	srv.client = mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if !made {
			return mcp.Result{}, errors.New("not yet")
		}
		return handler.Handle(ctx, req)
	}), o)
	made = true
	return srv
}

// state tells how it stands with the server.
func (s *server) state() (string, error) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.err != nil: // also while it is tried again
		return StateFailed, s.err
	case status.State != gateway.Connected:
		return status.State.String(), status.Err
	case !s.listed:
		return StateConnecting, nil
	}
	return StateConnected, status.Err
}

// watch keeps the offer fresh until ctx is done.
func (s *server) watch(ctx context.Context) {
	defer s.settle()
	for {
		changed := s.host.gateway.Changed()
		s.takeUp(ctx)
		select {
		case <-changed:
		case <-s.look:
		case <-ctx.Done():
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeUp has the offer be what the gateway knows of the server now.
func (s *server) takeUp(ctx context.Context) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	offered := s.host.gateway.Offered(s.Name)
	from, _ := s.madeOf()
	switch {
	case offered == nil && status.State == gateway.Failed:
		s.failed(status.Err)
	case offered == nil && from != nil:
		s.hold(offer{}, nil)
		return
	case offered == nil:
		return
	case offered != from:
		s.replace(offered, s.read(ctx, offered))
	}
	s.tellLists(status.Err)
	s.settle()
}

// await waits until the offer is what the gateway knows of the server now.
func (s *server) await(ctx context.Context) {
	for {
		from, taken := s.madeOf()
		if s.host.gateway.Offered(s.Name) == from {
			return
		}
		select {
		case s.look <- struct{}{}:
		default: // it is looked at
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return
		}
	}
}

// madeOf returns what the offer was made of, and what is closed when it is replaced.
func (s *server) madeOf() (*definitions.Definitions, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.from, s.taken
}

// hold has an offer be what the server has, which was made of from. A step that waits for it goes on when it can be found.
func (s *server) hold(o offer, from *definitions.Definitions) {
	s.mu.Lock()
	s.offer = o
	s.mu.Unlock()
	s.host.changes.Add(1)
	entries := make([]toolsearch.Tool, len(o.tools))
	for i, t := range o.tools {
		entries[i] = toolsearch.Tool{ID: t.id, Server: t.ref.Server, Name: t.Name, Title: t.title(), Description: t.sent.Description, Schema: t.InputSchema}
	}
	s.host.search.SetServer(s.Name, o.instructions, entries)
	select {
	case s.host.embed <- struct{}{}:
	default: // what is to be done will see this server's tools too
	}
	s.mu.Lock()
	s.from = from
	close(s.taken)
	s.taken = make(chan struct{})
	s.mu.Unlock()
}

func (s *server) replace(from *definitions.Definitions, fresh offer) {
	s.mu.Lock()
	known, lost := s.from != nil, s.err != nil
	before := s.offer.tools
	s.listed, s.err = true, nil
	s.mu.Unlock()
	s.hold(fresh, from)
	s.setAside(before, fresh.tools)
	switch {
	case lost:
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q is back, with %d tools", s.Name, len(fresh.tools))})
	case known:
		s.tellDifference(before, fresh.tools)
	}
}

// failed remembers why the server does not answer. What it offered is taken back:
// a tool that cannot be called must not be in the model's hands.
func (s *server) failed(err error) {
	s.mu.Lock()
	first, offered, what := s.err == nil, s.from != nil, "does not answer"
	if !s.listed && s.Handler == nil { // nobody has asked it anything: it was not started, or not reached
		what = "is not connected"
	}
	s.err = err
	s.mu.Unlock()
	if offered {
		s.hold(offer{}, nil)
	}
	if first {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q %s: %s", s.Name, what, s.why(err))})
	}
}

// tellLists reports that a list cannot be read or is cut, once.
func (s *server) tellLists(err error) {
	text := ""
	if list, is := errors.AsType[*gateway.ListError](err); is {
		text = s.why(list)
	}
	s.mu.Lock()
	known := s.reported
	s.reported = text
	s.mu.Unlock()
	if text != "" && text != known {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q lists not all that it has: %s", s.Name, text)})
	}
}

// why is an error of the server as a person reads it behind the server's name, which
// everybody on the way has put before it.
func (s *server) why(err error) string {
	named := fmt.Sprintf("server %q", s.Name)
	return clipped(readable(strings.NewReplacer(named+": ", "", named+" is not connected: ", "").Replace(err.Error())), maxErrorText)
}

// answers reports whether what the server offers was read, and is not lost.
func (s *server) answers() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listed && s.err == nil
}

// current returns what the server offers now.
func (s *server) current() offer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offer
}

func (h *Host) notice(n Notice) { h.tell(Event{Notice: &n}) }
