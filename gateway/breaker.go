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
	// maxUnanswered is the number of requests in a row without a response after which further ones
	// fail at once.
	maxUnanswered = 5
	// firstTrialPause is the time until a ping tries whether the server responds again. It doubles
	// up to lastTrialPause, until a request gets a response.
	firstTrialPause = 2 * time.Second
	lastTrialPause  = time.Minute
	// patientTime is the time after which a request that its client cancels counts as one without a
	// response.
	patientTime = 30 * time.Second
	// slowPing is how long a ping is unanswered until status shows it.
	slowPing = 3 * time.Second
)

// The states of a breaker. Each request loads this one word.
const (
	calm int32 = iota
	wary       // a request or ping got no response: the next ones are watched
	open       // requests fail at once
)

// A breaker guards one connection to a server. After some requests in a row without a response,
// further ones fail at once until a ping gets a response. Requests then pass again, but one more
// without a response opens the breaker. The error of a tool, and any other error that the server
// sends, is a response.
//
// It also records since when the server is silent, and whether a running request explains that; see
// health.go.
type breaker struct {
	name    string
	next    mcp.Handler
	changed func()        // is called when the status of the server changes
	wake    chan struct{} // has capacity 1; a value makes the next ping earlier
	state   atomic.Int32
	running atomic.Int64 // counts the server's requests, without subscriptions

	mu         sync.Mutex
	unanswered int // counts requests in a row without a response
	times      int // counts how often it opened in a row
	until      time.Time
	cause      error // the error of the last request without a response
	heard      time.Time
	pinging    time.Time // the time of the first unanswered ping; zero if the last ping was answered
	silence    int       // numbers the present silence, or the next one
	excused    time.Time // the time until which a request that came before the silence explains it
	doubted    bool      // is set if a request got no response in time, so that a ping is due
	mute       error     // the reason why the connection was ended as the server sends nothing; else nil
}

// An arrival holds the time when a request came, and the number of the silence in which it came.
// Such a request does not explain that silence. The zero value means that the breaker was calm.
type arrival struct {
	at      time.Time
	silence int
}

func newBreaker(name string, next mcp.Handler, changed func()) *breaker {
	return &breaker{name: name, next: next, changed: changed, wake: make(chan struct{}, 1), heard: time.Now(), silence: 1}
}

// Handle passes a request on, or returns the reason why it does not.
func (b *breaker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if b.state.Load() == open {
		return mcp.Result{}, b.refusal()
	}
	if req.Method == "subscriptions/listen" { // its end does not show the state of the server, and it does not keep a server busy
		return b.next.Handle(ctx, req)
	}
	var came arrival
	if b.state.Load() != calm {
		came = b.arrives()
	}
	b.running.Add(1)
	defer b.running.Add(-1) // after its response ended a silence: otherwise a ping in between would find a silence without a reason
	result, err := b.pass(ctx, req, came)
	if err != nil || b.state.Load() != calm {
		b.note(ctx, came, err)
	}
	return result, err
}

// pass passes a request on, and notes its progress notifications.
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
		b.excuse(0) // its handler in the server may go on, but its client has cancelled
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

// note notes the outcome of a request. Its arrival is known only if the breaker was not calm.
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
		if errors.Is(err, context.DeadlineExceeded) { // of the entry
			b.doubt()
		}
	case !came.at.IsZero() && time.Since(came.at) >= patientTime:
		b.failed(fmt.Errorf("a client gave up a request after %v without a response", time.Since(came.at).Round(time.Second)))
		fallthrough
	default:
		b.doubt()
	}
}

// isResponse reports whether an error is one that the server sent, or one that does not show its
// state.
func isResponse(err error) bool {
	if _, answered := errors.AsType[*mcp.Error](err); answered || errors.Is(err, mcp.ErrInputRequired) || errors.Is(err, mcp.ErrClosed) {
		return true
	}
	status, ok := errors.AsType[*mcp.StatusError](err)
	return ok && status.Status < http.StatusInternalServerError
}

// doubt requests a ping soon.
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

// open makes requests fail at once for a time. The caller holds the lock.
func (b *breaker) open() {
	b.until = time.Now().Add(min(firstTrialPause<<min(b.times, 20), lastTrialPause))
	b.times++
	b.state.Store(open)
}

// refusal returns the error of a request that is not passed on.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.trouble("in " + max(time.Until(b.until).Round(time.Second), time.Second).String()); err != nil {
		return err
	}
	return fmt.Errorf("server %q did not respond a moment ago, but responds now; try again", b.name)
}

// trouble returns the fault of the server for users, or nil. The text when is the time of the next
// trial. The caller holds the lock.
func (b *breaker) trouble(when string) error {
	switch {
	case b.state.Load() == open:
		why := "(" + strings.TrimPrefix(b.cause.Error(), fmt.Sprintf("server %q: ", b.name)) + ")" // may contain data of another client
		return &mcp.PrivateError{Private: why, Public: "(its operator can see the reason)", Err: &brokenError{
			fmt.Sprintf("server %q does not respond, so it gets no requests: its last %d requests got no response %s; Junction tries it again %s: try again then, or restart it", b.name, b.unanswered, why, when), b.cause}}
	case b.isSlow():
		return fmt.Errorf("server %q has not answered a ping since %s: %s", b.name, b.pinging.Format(time.TimeOnly), b.prospect())
	}
	return nil
}

// standing returns the error of trouble, and whether requests fail at once.
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
