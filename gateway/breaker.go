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
	// defaultUnanswered is the default of [Options.Unanswered].
	defaultUnanswered = 5
	// firstTrialPause is the time until a ping tries whether the server responds again. It doubles
	// after each failure, up to lastTrialPause, until a request gets a response.
	firstTrialPause = 2 * time.Second
	lastTrialPause  = time.Minute
	// patientTime is the minimum duration of a request after which its cancellation by the client
	// counts as a missing response.
	patientTime = 30 * time.Second
	// slowPing is the time after which status reports a ping as unanswered.
	slowPing = 3 * time.Second
)

// The states of a breaker. Each request loads the state once.
const (
	calm int32 = iota
	wary       // a request or ping got no response; the next ones are watched
	open       // requests fail at once
)

// A breaker guards one connection to a server. After limit requests in a row without a
// response, further requests fail at once until a ping gets a response. Requests then pass again,
// but one more without a response opens the breaker. An error that the server sends counts as a
// response.
//
// A breaker also records how long the server has been silent, and whether a running request
// explains the silence; see health.go.
type breaker struct {
	name    string
	limit   int           // see [Options.Unanswered]
	pause   time.Duration // see [Options.HealthPause]
	next    mcp.Handler
	changed func()        // called when the status of the server changes
	wake    chan struct{} // capacity 1; a value makes the next ping earlier
	state   atomic.Int32
	running atomic.Int64 // running requests to the server, without subscriptions

	mu           sync.Mutex
	unanswered   int // requests in a row without a response
	times        int // number of consecutive times that the breaker opened
	until        time.Time
	cause        error // error of the last request without a response
	lastActivity time.Time
	pinging      time.Time // the time of the first unanswered ping; zero if the last ping was answered
	silence      int       // the number of the present silence, or of the next one
	excused      time.Time // the time until which a request that began before the silence explains it
	doubted      bool      // set if a request got no response in time, so that a ping is due
	mute         error     // why the connection was ended because the server sends nothing; else nil
}

// An arrival holds the time when a request came, and the number of the silence in which it came. A
// request that came during a silence does not explain it. The zero value means that the breaker was
// calm.
type arrival struct {
	at      time.Time
	silence int
}

func (g *Gateway) newBreaker(name string, next mcp.Handler, changed func()) *breaker {
	return &breaker{name: name, limit: g.options.Unanswered, pause: g.options.HealthPause, next: next, changed: changed, wake: make(chan struct{}, 1), lastActivity: time.Now(), silence: 1}
}

// Handle passes a request on to the server, or returns the reason why the breaker refuses it.
func (b *breaker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if b.state.Load() == open {
		return mcp.Result{}, b.refusal()
	}
	if req.Method == "subscriptions/listen" { // the end of a subscription does not show the state of the server, and a subscription does not keep a server busy
		return b.next.Handle(ctx, req)
	}
	var came arrival
	if b.state.Load() != calm {
		came = b.arrives()
	}
	b.running.Add(1)
	defer b.running.Add(-1) // deferred until the response has ended a silence: otherwise a ping in between would find a silence without a reason
	result, err := b.pass(ctx, req, came)
	if err != nil || b.state.Load() != calm {
		b.note(ctx, came, err)
	}
	return result, err
}

// pass passes a request on, and records its progress notifications as signs of life.
func (b *breaker) pass(ctx context.Context, req *mcp.Request, came arrival) (mcp.Result, error) {
	if req.Meta.ProgressToken != nil && req.Peer != nil {
		watched := *req
		watched.Peer = &breakerPeer{req.Peer, b}
		req = &watched
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
		b.excuse(0) // the server may still handle the request that the client cancelled
	}
	return result, err
}

// arrives returns the arrival of a request while the breaker is not calm.
func (b *breaker) arrives() arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	came := arrival{at: time.Now()}
	if !b.pinging.IsZero() {
		came.silence = b.silence
	}
	return came
}

// note records the outcome of a request. The value came is zero if the breaker was calm.
func (b *breaker) note(ctx context.Context, came arrival, err error) {
	switch {
	case err == nil || isResponse(err):
		if b.state.Load() != calm {
			b.mu.Lock()
			seen := b.state.Swap(calm) == open || b.isSlow()
			b.unanswered, b.times, b.cause, b.doubted = 0, 0, nil, false
			b.noteActivity()
			b.mu.Unlock()
			if seen {
				b.changed()
			}
		}
	case ctx.Err() == nil:
		b.failed(err)
		if errors.Is(err, context.DeadlineExceeded) { // the deadline of the server's entry in the configuration
			b.pingSoon()
		}
	case !came.at.IsZero() && time.Since(came.at) >= patientTime:
		b.failed(fmt.Errorf("a client gave up a request after %v without a response", time.Since(came.at).Round(time.Second)))
		fallthrough
	default:
		b.pingSoon()
	}
}

// isResponse reports whether the server sent err, or err does not show the state of the server.
func isResponse(err error) bool {
	if _, answered := errors.AsType[*mcp.Error](err); answered || errors.Is(err, mcp.ErrInputRequired) || errors.Is(err, mcp.ErrClosed) {
		return true
	}
	status, ok := errors.AsType[*mcp.StatusError](err)
	return ok && status.Status < http.StatusInternalServerError
}

// pingSoon makes a ping due soon.
func (b *breaker) pingSoon() {
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

// failed records a request without a response.
func (b *breaker) failed(err error) {
	b.mu.Lock()
	b.unanswered++
	b.cause = err
	opens := b.unanswered >= b.limit && b.state.Load() != open
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

// open makes requests fail at once for a time. The caller holds the lock.
func (b *breaker) open() {
	b.until = time.Now().Add(min(firstTrialPause<<min(b.times, 20), lastTrialPause))
	b.times++
	b.state.Store(open)
}

// refusal returns the error of a request that the breaker does not pass on.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.trouble("in " + max(time.Until(b.until).Round(time.Second), time.Second).String()); err != nil {
		return err
	}
	return fmt.Errorf("server %q did not respond a moment ago, but responds now; try again", b.name)
}

// trouble returns the fault of the server for users, or nil. when is the text for the time of the
// next trial. The caller holds the lock.
func (b *breaker) trouble(when string) error {
	switch {
	case b.state.Load() == open:
		why := "(" + strings.TrimPrefix(b.cause.Error(), fmt.Sprintf("server %q: ", b.name)) + ")" // may contain data of another client
		return &mcp.PrivateError{Private: why, Public: "(its operator can see the reason)", Err: &brokenError{
			fmt.Sprintf("server %q does not respond, so it gets no requests: its last %d requests got no response %s; Junction tries it again %s: try again then, or restart it", b.name, b.unanswered, why, when), b.cause}}
	case b.isSlow():
		return fmt.Errorf("server %q has not answered a ping since %s: %s", b.name, b.pinging.Format(time.TimeOnly), b.nextStep())
	}
	return nil
}

// standing returns the result of trouble, and reports whether requests fail at once.
func (b *breaker) standing() (err error, isOpen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble("at " + b.until.Format(time.TimeOnly)), b.state.Load() == open
}

// A brokenError is the error of a request that an open breaker refuses, with its cause.
type brokenError struct {
	text  string
	cause error
}

func (e *brokenError) Error() string { return e.text }

func (e *brokenError) Unwrap() error { return e.cause }
