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
type breaker struct {
	name    string
	next    mcp.Handler
	changed func()        // the state that people see
	wake    chan struct{} // of capacity 1: a ping is due earlier
	state   atomic.Int32

	mu         sync.Mutex
	unanswered int // requests in a row
	times      int // how often it opened in a row
	until      time.Time
	cause      error // of the last request without a response
	heard      time.Time
	pinging    time.Time // since when no ping was answered; zero if the last was
	silent     int       // pings in a row that were not answered in time
	doubted    bool      // a client gave up a request: is the server there?
}

func newBreaker(name string, next mcp.Handler, changed func()) *breaker {
	return &breaker{name: name, next: next, changed: changed, wake: make(chan struct{}, 1), heard: time.Now()}
}

// Handle passes a request on, or says why it does not.
func (b *breaker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	var began time.Time
	switch b.state.Load() {
	case open:
		return mcp.Result{}, b.refusal()
	case wary:
		began = time.Now()
	}
	result, err := b.next.Handle(ctx, req)
	if err != nil || b.state.Load() != calm {
		b.note(ctx, req, began, err)
	}
	return result, err
}

// note notes how a request went. When it began is known only where it is looked at.
func (b *breaker) note(ctx context.Context, req *mcp.Request, began time.Time, err error) {
	switch {
	case req.Method == "subscriptions/listen": // how one ends says nothing
	case err == nil || isResponse(err):
		if b.state.Load() != calm {
			b.responded()
		}
	case ctx.Err() == nil:
		b.failed(err)
	case began.IsZero() || time.Since(began) < patientTime:
		b.doubt()
	default:
		b.failed(fmt.Errorf("a client gave up a request after %v without a response", time.Since(began).Round(time.Second)))
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

// responded notes that the server did.
func (b *breaker) responded() {
	b.mu.Lock()
	was, silent := b.state.Swap(calm), b.silent
	b.unanswered, b.times, b.silent, b.cause, b.doubted, b.heard, b.pinging = 0, 0, 0, nil, false, time.Now(), time.Time{}
	b.mu.Unlock()
	if was == open || silent > 0 {
		b.changed()
	}
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

// pings notes that a ping is sent.
func (b *breaker) pings() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pinging.IsZero() {
		b.pinging = time.Now()
	}
}

// pinged notes how a ping went, and returns how many in a row were not answered in time, and when anything was
// heard of the server last.
func (b *breaker) pinged(err error, late bool) (silent int, heard time.Time) {
	answered := err == nil || isResponse(err)
	b.mu.Lock()
	b.doubted = false
	was, before := b.state.Load(), b.silent
	if !late {
		b.pinging = time.Time{}
	}
	switch {
	case answered:
		b.silent, b.heard = 0, time.Now()
		if was == open { // one more request without a response opens it again, for longer
			b.unanswered = maxUnanswered - 1
			b.state.Store(wary)
		}
	case late:
		b.silent++
	default:
		b.silent = 0
	}
	if !answered {
		b.state.CompareAndSwap(calm, wary)
		if was == open {
			b.cause = err
			b.open()
		}
	}
	silent, heard = b.silent, b.heard
	b.mu.Unlock()
	if was == open || silent > 0 || before > 0 {
		b.changed()
	}
	return silent, heard
}

// due is when the next ping is, if the last was at some time: each pause, earlier where a client gave up a request,
// and where requests fail at once when that time is over.
func (b *breaker) due(last time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state.Load() == open:
		return b.until
	case b.doubted:
		return last.Add(firstTrialPause)
	}
	return last.Add(healthPause)
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
	case b.silent >= maxSilent:
		return fmt.Errorf("server %q has answered no ping since %s, though requests run: it may be busy, and is restarted after %v", b.name, b.heard.Format(time.TimeOnly), maxBusyTime)
	case !b.pinging.IsZero() && time.Since(b.pinging) >= slowPing:
		return fmt.Errorf("server %q has not answered a ping since %s: it may be stuck, or do one thing at a time", b.name, b.pinging.Format(time.TimeOnly))
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
