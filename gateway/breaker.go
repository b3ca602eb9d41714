package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const (
	// maxUnanswered is how many requests in a row may get no response until further ones fail at once.
	maxUnanswered = 5
	// firstTrialPause is how long they do, before a ping tries whether the server responds again. It is doubled
	// until a request gets a response, up to lastTrialPause.
	firstTrialPause = 2 * time.Second
	lastTrialPause  = time.Minute
	// patientTime is how long a client must have waited for a response for what it gives up to count as a request
	// that got none.
	patientTime = 30 * time.Second
	// slowPing is how long a ping is unanswered until people see that.
	slowPing = 3 * time.Second
)

// What a breaker knows of its connection, in one word that each request looks at.
const (
	calm int32 = iota
	wary       // something got no response: what comes next is looked at
	open       // requests fail at once
)

// A breaker stands before one connection to a server. After some requests in a row that got no response, further
// ones fail at once, until a ping gets one: then they are let through, but the next that gets none is enough. A
// tool that fails, and any other error that the server answers, is a response.
//
// It also knows since when the server is silent, and whether a request that runs explains that; see health.go.
type breaker struct {
	name    string
	next    mcp.Handler
	changed func()        // the state that people see
	wake    chan struct{} // of capacity 1: a ping is due earlier
	state   atomic.Int32
	running atomic.Int64 // requests that the server has, without those that listen

	mu         sync.Mutex
	unanswered int // requests in a row
	times      int // how often it opened in a row
	until      time.Time
	cause      error // of the last request without a response
	heard      time.Time
	pinging    time.Time // since when no ping was answered: it is silent; zero if the last was
	silence    int       // the number of the present silence, or of the next one
	excused    time.Time // until then a request explained it that came before it
	doubted    bool      // a request got no response in time: is the server there?
	mute       error     // why the connection is ended, as the server answers nothing; nil if it is not
}

// An arrival is when a request came, and in which silence, which it does not explain; zero where all was well.
type arrival struct {
	at      time.Time
	silence int
}

func newBreaker(name string, next mcp.Handler, changed func()) *breaker {
	return &breaker{name: name, next: next, changed: changed, wake: make(chan struct{}, 1), heard: time.Now(), silence: 1}
}

// Handle passes a request on, or says why it does not.
func (b *breaker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if b.state.Load() == open {
		return mcp.Result{}, b.refusal()
	}
	if req.Method == "subscriptions/listen" { // how one ends says nothing, and it keeps no server busy
		return b.next.Handle(ctx, req)
	}
	var came arrival
	if b.state.Load() != calm {
		came = b.arrives()
	}
	b.running.Add(1)
	defer b.running.Add(-1) // after its response ended a silence: else a ping that is due in between finds one that nothing explains
	result, err := b.pass(ctx, req, came)
	if err != nil || b.state.Load() != calm {
		b.note(ctx, came, err)
	}
	return result, err
}

// pass passes a request on, and hears of its progress.
func (b *breaker) pass(ctx context.Context, req *mcp.Request, came arrival) (mcp.Result, error) {
	if req.Meta.ProgressToken != nil && req.Peer != nil {
		heard := *req
		heard.Peer = &heardPeer{req.Peer, b}
		req = &heard
	}
	result, err := b.next.Handle(ctx, req)
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		b.excuse(inputTime)
	case errors.Is(err, mcp.ErrClosed):
		if why := b.isMute(); why != nil {
			err = fmt.Errorf("%w: %w", why, mcp.ErrLost)
		}
	case err != nil && !isResponse(err) && came.silence != b.current():
		b.excuse(0) // its handler in the server may go on, but nobody wants that any more
	}
	return result, err
}

// arrives notes that a request comes while something got no response.
func (b *breaker) arrives() arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	came := arrival{at: time.Now()}
	if !b.pinging.IsZero() {
		came.silence = b.silence
	}
	return came
}

// note notes how a request went. When it came is known only where it is looked at.
func (b *breaker) note(ctx context.Context, came arrival, err error) {
	switch {
	case err == nil || isResponse(err):
		if b.state.Load() != calm {
			b.mu.Lock()
			seen := b.state.Swap(calm) == open || b.isSlow()
			b.unanswered, b.times, b.cause, b.doubted = 0, 0, nil, false
			b.speaks()
			b.mu.Unlock()
			if seen {
				b.changed()
			}
		}
	case ctx.Err() == nil:
		b.failed(err)
		if errors.Is(err, context.DeadlineExceeded) { // the entry's
			b.doubt()
		}
	case !came.at.IsZero() && time.Since(came.at) >= patientTime:
		b.failed(fmt.Errorf("a client gave up a request after %v without a response", time.Since(came.at).Round(time.Second)))
		fallthrough
	default:
		b.doubt()
	}
}

// isResponse reports whether an error is one that the server answered, or that says nothing of it.
func isResponse(err error) bool {
	if _, answered := errors.AsType[*mcp.Error](err); answered || errors.Is(err, mcp.ErrInputRequired) || errors.Is(err, mcp.ErrClosed) {
		return true
	}
	status, ok := errors.AsType[*mcp.StatusError](err)
	return ok && status.Status < http.StatusInternalServerError
}

// doubt has a ping find out whether the server is there.
func (b *breaker) doubt() {
	b.mu.Lock()
	b.doubted = true
	b.state.CompareAndSwap(calm, wary)
	b.mu.Unlock()
	b.hurry()
}

func (b *breaker) hurry() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// failed notes a request without a response.
func (b *breaker) failed(err error) {
	b.mu.Lock()
	b.unanswered++
	b.cause = err
	opens := b.unanswered >= maxUnanswered && b.state.Load() != open
	if opens {
		b.open()
	} else {
		b.state.CompareAndSwap(calm, wary)
	}
	b.mu.Unlock()
	if opens {
		b.hurry()
		b.changed()
	}
}

// open has requests fail at once for a time; the lock is held.
func (b *breaker) open() {
	b.until = time.Now().Add(min(firstTrialPause<<min(b.times, 20), lastTrialPause))
	b.times++
	b.state.Store(open)
}

// refusal is the error of a request that is not passed on.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.trouble("in " + max(time.Until(b.until).Round(time.Second), time.Second).String()); err != nil {
		return err
	}
	return fmt.Errorf("server %q did not respond a moment ago, and does now; try again", b.name)
}

// trouble says what is wrong, for people, and when an open one is tried; nil if nothing is. The lock is held.
func (b *breaker) trouble(when string) error {
	switch {
	case b.state.Load() == open:
		why := "(" + strings.TrimPrefix(b.cause.Error(), fmt.Sprintf("server %q: ", b.name)) + ")" // may have what somebody else sent
		return &mcp.PrivateError{Private: why, Public: "(whoever runs it sees why)", Err: &brokenError{
			fmt.Sprintf("server %q does not respond, so that it is not asked: its last %d requests got no response %s; it is tried again %s: try again then, or restart it", b.name, b.unanswered, why, when), b.cause}}
	case b.isSlow():
		return fmt.Errorf("server %q has not answered a ping since %s: %s", b.name, b.pinging.Format(time.TimeOnly), b.prospect())
	}
	return nil
}

// standing is trouble, and whether requests fail at once.
func (b *breaker) standing() (err error, isOpen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble("at " + b.until.Format(time.TimeOnly)), b.state.Load() == open
}

// A brokenError says that a server is not asked, and why.
type brokenError struct {
	text  string
	cause error
}

func (e *brokenError) Error() string { return e.text }

func (e *brokenError) Unwrap() error { return e.cause }
