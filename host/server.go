package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"golang.org/x/time/rate"
)

// Server is a server whose tools the model can be given.
type Server struct {
	// Name is the person's name for it: what tools are prefixed with, what rules
	// and approvals are about.
	Name string
	// Handler answers for it: an [mcp.Server] in this process, an [mcp.Client], a
	// gateway that connects again when the connection was lost.
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
	// State tells how it stands with the connection; nil means connected.
	State func() (state string, err error)
	// Restart ends the connection and connects again, without waiting; nil means that it cannot
	// be done. Stderr are the last lines that the server's program wrote to its standard
	// error; nil means that nobody keeps them.
	Restart func() error
	Stderr  func() []string
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

	vouched    atomic.Bool   // the person trusts it now
	unprompted atomic.Int32  // requests that belong to no call
	notices    *rate.Limiter // that its tools changed

	mu     sync.RWMutex
	offer  offer
	stale  chan struct{} // closed when lists that are known to be old were read; nil while they are not
	listed bool
	err    error

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
	srv := &server{Server: s, host: h, settled: make(chan struct{}), notices: rate.NewLimiter(rate.Every(toolNoticeTime), maxToolNotices)}
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
	if h.options.Middleware != nil {
		o.Middleware = append(o.Middleware, h.options.Middleware(s.Name))
	}
	first := &later{Handler: s.Handler}
	srv.client = mcp.NewClientWith(first, o)
	first.begun.Store(true)
	return srv
}

// A later handler does not answer before it is begun: a client that is made asks
// what its handler is, and one that never answers would hold up everything. The host
// asks by itself, in time, and again whenever the server came back.
type later struct {
	mcp.Handler
	begun atomic.Bool
}

func (l *later) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if !l.begun.Load() {
		return mcp.Result{}, errors.New("not yet")
	}
	return l.Handler.Handle(ctx, req)
}

// state tells how it stands with the server.
func (s *server) state() (string, error) {
	if s.State != nil {
		if state, err := s.State(); state != StateConnected {
			return state, err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.err != nil:
		return StateFailed, s.err
	case !s.listed:
		return StateConnecting, nil
	}
	return StateConnected, nil
}

// watch keeps the offer fresh until ctx is done: it listens, and reads the lists
// whenever it notifies of a change.
func (s *server) watch(ctx context.Context) {
	var settled sync.Once
	pause, longest := firstRetry, lastRetry
	if s.State != nil {
		longest = firstRetry // somebody else connects, and to look again costs nothing
	}
	for ctx.Err() == nil {
		began, before := time.Now(), s.connecting()
		err := s.follow(ctx, func() { settled.Do(func() { close(s.settled) }) })
		if ctx.Err() != nil {
			break
		}
		if !before && !s.connecting() { // an error of the time before is none of the connection's
			if err != nil {
				s.failed(err)
			}
			settled.Do(func() { close(s.settled) })
		}
		if time.Since(began) > lastRetry {
			pause = firstRetry
		}
		if !wait(ctx, pause) {
			break
		}
		pause = min(pause*2, longest)
	}
	settled.Do(func() { close(s.settled) })
}

// connecting reports whether somebody is still trying to reach the server for the
// first time.
func (s *server) connecting() bool {
	if s.State == nil {
		return false
	}
	state, _ := s.State()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return state == StateConnecting && !s.listed && s.err == nil
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

// follow reads the lists, and again after each notification of a change, until the server sends no
// more. It listens before it reads, so that no change falls in between.
func (s *server) follow(ctx context.Context, read func()) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	again := func() { s.outdate(changed) }
	heard := time.NewTimer(changeTime) // a server that does not say that it listens is read all the same
	defer heard.Stop()
	ended := make(chan error, 1)
	go func() {
		filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
		ended <- s.client.ListenWith(ctx, filter, func(mcp.Notification) { again() }, func(mcp.SubscriptionFilter) { again() })
	}()
	defer func() { cancel(); <-ended; s.upToDate(nil) }()
	rush, last := 0, time.Time{} // readings without a pause between them, and when the last one was
	for {
		select {
		case <-heard.C:
			again()
		case <-changed:
			heard.Stop()
			if rush++; time.Since(last) >= rushPause {
				rush = 0
			}
			if rush > maxRush {
				wait(ctx, rushPause)
			}
			if err := s.read(ctx); err != nil {
				return err
			}
			last = time.Now()
			s.upToDate(changed)
			read()
		case err := <-ended:
			ended <- err
			return s.quiet(ctx, err, read)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// quiet is for a server that notifies of nothing: what it offered stays. Whether
// it still answers is seen when it is called, and when it is read again.
func (s *server) quiet(ctx context.Context, err error, read func()) error {
	if code := mcp.ErrorOf(err).Code; err != nil && code != mcp.CodeMethodNotFound {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	s.upToDate(nil)
	read()
	wait(ctx, lastRetry)
	return nil
}

func (s *server) replace(fresh offer) {
	s.mu.Lock()
	known, lost := s.listed, s.err != nil
	before := s.offer.tools
	s.offer, s.listed, s.err = fresh, true, nil
	s.mu.Unlock()
	s.host.changes.Add(1)
	s.host.index(s)
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
	first, what := s.err == nil, "does not answer"
	if !s.listed && s.State != nil { // nobody has asked it anything: it was not started, or not reached
		what = "is not connected"
	}
	s.err, s.offer = err, offer{}
	s.mu.Unlock()
	s.host.changes.Add(1)
	s.host.index(s)
	if first {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q %s: %s", s.Name, what, s.why(err))})
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
