package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"golang.org/x/time/rate"
)

const (
	// maxKeys bounds whom limits are kept for; beyond it, somebody who was not seen for long starts anew.
	maxKeys = 10_000
	// maxWaiting is how many calls of one key wait for their turn; more are refused.
	maxWaiting = 1_000
)

// Options say what is allowed. Those of a value 0 allow everything.
type Options struct {
	// Calls may begin in the time In, which is a second by default. A pause gives the right to as many at once. Each
	// round of a call that asks the client something counts.
	Calls int
	In    time.Duration
	// Bytes of results may come back in the time BytesIn, which is an hour by default. The result that goes
	// beyond is passed on, and counts for the calls after it.
	Bytes   int
	BytesIn time.Duration
	// Concurrent may run at the same time; more wait for their turn as long as their context allows.
	Concurrent int
	// Key says whose limit a request counts in; it must be comparable, and nil counts, too. By default all
	// requests count in one. See [Caller].
	Key func(*mcp.Request) any
	// Matches says which requests count; by default calls of tools, prompts/get, resources/read and
	// completion/complete do.
	Matches func(*mcp.Request) bool
	// Whose names the limit in errors, such as "server files"; default "you".
	Whose string
	// OnRefused, if not nil, is called with the context of each request that is refused, and why, before it is
	// answered. It must be safe for concurrent use.
	OnRefused func(ctx context.Context, req *mcp.Request, why error)
}

// Caller is a Key: the principal of a request, or else the connection or session that it came from, or
// else the client's name.
func Caller(req *mcp.Request) any {
	type user struct{ issuer, subject, client string }
	switch {
	case req.Principal != nil:
		return user{req.Principal.Issuer, req.Principal.Subject, ""}
	case req.Caller != nil:
		return req.Caller
	case req.Meta.Client != nil:
		return user{client: req.Meta.Client.Name}
	}
	return nil
}

// Middleware returns middleware that refuses calls that are too many in a time, and lets those that are
// too many at a time wait.
func Middleware(o Options) mcp.Middleware { return New(o).Around }

// A Limiter counts what is asked of one or more Handlers. It is safe for concurrent use.
type Limiter struct {
	options Options

	mu  sync.Mutex
	all map[any]*bucket
}

// New returns a Limiter that has counted nothing yet.
func New(o Options) *Limiter {
	o.In, o.BytesIn = cmp.Or(o.In, time.Second), cmp.Or(o.BytesIn, time.Hour)
	o.Whose = cmp.Or(o.Whose, "you")
	if o.Key == nil {
		o.Key = func(*mcp.Request) any { return nil }
	}
	if o.Matches == nil {
		o.Matches = func(req *mcp.Request) bool {
			switch req.Method {
			case "tools/call", "prompts/get", "resources/read", "completion/complete":
				return true
			}
			return false
		}
	}
	return &Limiter{options: o, all: map[any]*bucket{}}
}

// Around returns a Handler whose requests count in the Limiter.
func (l *Limiter) Around(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) { return l.handle(ctx, req, next) })
}

// A bucket is what one key has used.
type bucket struct {
	rate    *rate.Limiter
	bytes   *rate.Limiter
	running chan struct{} // holds a token for each call that runs

	users int // calls that run or wait; under the lock of the limiter
	used  time.Time
}

func (l *Limiter) handle(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	if !l.options.Matches(req) {
		return next.Handle(ctx, req)
	}
	b, err := l.enter(l.options.Key(req))
	if err != nil {
		return l.refused(ctx, req, err)
	}
	defer l.leave(b)
	if err := l.take(b); err != nil { // each round: the state of one can be sent again, and the tool runs from the top
		return l.refused(ctx, req, err)
	}
	if b.running != nil {
		select {
		case b.running <- struct{}{}:
		default:
			began := time.Now()
			select {
			case b.running <- struct{}{}:
				if n := mcp.NoterOf(ctx); n != nil {
					n.Note("limit", limited{Whose: l.options.Whose, Waited: time.Since(began)})
				}
			case <-ctx.Done():
				err := fmt.Errorf("waited for its turn, as %d calls may run at the same time for %s: %w", l.options.Concurrent, l.options.Whose, context.Cause(ctx))
				if n := mcp.NoterOf(ctx); n != nil {
					n.Note("limit", limited{Whose: l.options.Whose, Waited: time.Since(began), Refused: err.Error()})
				}
				return mcp.Result{}, err
			}
		}
		defer func() { <-b.running }()
	}
	result, err := next.Handle(ctx, req)
	if b.bytes == nil || err != nil {
		return result, err
	}
	return l.count(b, result)
}

// A limited call is what one who watches hears of it.
type limited struct {
	Whose   string        `json:"whose"`
	Waited  time.Duration `json:"waited,omitempty"` // nanoseconds, for its turn
	Refused string        `json:"refused,omitempty"`
}

// count counts the bytes of a result.
func (l *Limiter) count(b *bucket, result mcp.Result) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	result.JSON = body // encoded once, also for who sends it
	for left := len(body); left > 0; left -= l.options.Bytes {
		b.bytes.ReserveN(time.Now(), min(left, l.options.Bytes))
	}
	return result, nil
}

// take counts a call, or says when there may be one.
func (l *Limiter) take(b *bucket) error {
	if b.bytes != nil {
		if over := -b.bytes.Tokens(); over >= 0 {
			pause := time.Duration(math.Ceil(over/float64(b.bytes.Limit()))+1) * time.Second
			return fmt.Errorf("too much was read: %d bytes in %s are allowed for %s; try again in %v", l.options.Bytes, word(l.options.BytesIn), l.options.Whose, pause)
		}
	}
	if b.rate == nil || b.rate.Allow() {
		return nil
	}
	r := b.rate.Reserve()
	if pause := r.Delay(); pause > 0 {
		r.Cancel()
		return fmt.Errorf("too many calls: %d in %s are allowed for %s; try again in %v", l.options.Calls, word(l.options.In), l.options.Whose, time.Duration(math.Ceil(pause.Seconds()))*time.Second)
	}
	return nil
}

func word(in time.Duration) string {
	switch in {
	case time.Second:
		return "a second"
	case time.Minute:
		return "a minute"
	case time.Hour:
		return "an hour"
	}
	return in.String()
}

// refused is the result of a call that is not made. A model reads that of a tool.
func (l *Limiter) refused(ctx context.Context, req *mcp.Request, why error) (mcp.Result, error) {
	if l.options.OnRefused != nil {
		l.options.OnRefused(ctx, req, why)
	}
	if n := mcp.NoterOf(ctx); n != nil {
		n.Note("limit", limited{Whose: l.options.Whose, Refused: why.Error()})
	}
	if req.Method != "tools/call" {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "%v", why)
	}
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(why.Error())}}}, nil
}

func (l *Limiter) enter(key any) (*bucket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.all[key]
	if b == nil {
		if len(l.all) >= maxKeys {
			l.forgetOldest()
		}
		b = &bucket{}
		if l.options.Calls > 0 {
			b.rate = rate.NewLimiter(rate.Limit(float64(l.options.Calls)/l.options.In.Seconds()), l.options.Calls)
		}
		if l.options.Bytes > 0 {
			b.bytes = rate.NewLimiter(rate.Limit(float64(l.options.Bytes)/l.options.BytesIn.Seconds()), l.options.Bytes)
		}
		if l.options.Concurrent > 0 {
			b.running = make(chan struct{}, l.options.Concurrent)
		}
		l.all[key] = b
	}
	if b.running != nil && b.users >= l.options.Concurrent+maxWaiting {
		return nil, fmt.Errorf("too many calls: %d wait for their turn for %s; try again later", maxWaiting, l.options.Whose)
	}
	b.users++
	b.used = time.Now()
	return b, nil
}

func (l *Limiter) leave(b *bucket) {
	l.mu.Lock()
	b.users--
	l.mu.Unlock()
}

// maxLooked is how many keys are looked at to find one that was not seen for long.
const maxLooked = 64

// forgetOldest takes a key away that was not seen for long, and nobody uses; the lock is held.
func (l *Limiter) forgetOldest() {
	var oldest any
	found, looked := false, 0
	for key, b := range l.all {
		if looked++; found && looked > maxLooked {
			break
		}
		if b.users == 0 && (!found || b.used.Before(l.all[oldest].used)) {
			oldest, found = key, true
		}
	}
	if found {
		delete(l.all, oldest)
	}
}
