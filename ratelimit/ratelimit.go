// Package ratelimit limits the rate, the concurrency and the results of requests to a Handler: for
// each user, for each client, for a server or for one of its tools. It imports nothing of Junction
// but mcp and packages below it, so that any Handler can use it.
package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// maxKeys is the largest number of keys with counts. Beyond it, a key that was not used for
	// long loses its counts.
	maxKeys = 10_000
	// maxLooked is the largest number of keys to examine when looking for such a key.
	maxLooked = 64
	// maxWaiting is the largest number of calls that wait for one key. Further calls are refused.
	maxWaiting = 1_000
)

// theCaller is the name for the limit of each caller in errors, which the caller reads.
const theCaller = "you"

// Options configure the limits. A zero limit allows everything.
type Options struct {
	// Calls is the number of calls that may begin within In. The default of In is a second. After a
	// pause, that many calls may begin at once. Each round of a call counts.
	Calls int
	In    time.Duration
	// Bytes is the size of results that are allowed within BytesIn; the default of BytesIn is an
	// hour. The result that exceeds the limit is returned, and the calls after it are refused.
	Bytes   int
	BytesIn time.Duration
	// Concurrent is the number of calls that may run at the same time. Further calls wait for their
	// turn until their context ends.
	Concurrent int
	// Key returns the key whose limits apply to a request. It must be comparable and may be nil. By
	// default all requests share one key. See [Caller].
	Key func(*mcp.Request) any
	// Matches reports whether a request counts as a call. By default calls of tools, prompts/get,
	// resources/read and completion/complete count.
	Matches func(*mcp.Request) bool
	// Rest is the number of all other requests that may begin within In, such as initialize and
	// requests for lists or about tasks. They do not wait for a turn.
	Rest int
	// Whose names the limit in errors, such as "server files". The default is "you".
	Whose string
	// Shares, if not nil, counts the requests to all replicas together, under Name. The calls of clients without a principal count at each replica alone.
	Shares *Shares
	Name   string
}

// Caller is a Key. It returns the principal of a request, or else the request's connection or
// session, or else the client's name.
func Caller(req *mcp.Request) any {
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

// A user is a key of Caller: a principal, or else the name of a client.
type user struct{ issuer, subject, client string }

// Middleware returns middleware that refuses calls beyond the limits of rate and bytes. Calls
// beyond the limit of concurrency wait.
func Middleware(o Options) mcp.Middleware { return New(o).Around }

// A Limiter counts the requests to one or more Handlers. It is safe for concurrent use.
type Limiter struct {
	options Options

	mu  sync.Mutex
	all map[any]*bucket
}

// New returns a Limiter.
func New(o Options) *Limiter {
	o.In, o.BytesIn = cmp.Or(o.In, time.Second), cmp.Or(o.BytesIn, time.Hour)
	o.Whose = cmp.Or(o.Whose, theCaller)
	if o.Key == nil {
		o.Key = func(*mcp.Request) any { return nil }
	}
	if o.Matches == nil {
		o.Matches = func(req *mcp.Request) bool { return revision.MethodNamed(req.Method).Used }
	}
	return &Limiter{options: o, all: map[any]*bucket{}}
}

type countedKey struct{}

// Counted returns a context for a request that is passed again, because middleware around the limits
// handled its first error. The request does not count again; it waits for its turn.
func Counted(ctx context.Context) context.Context {
	return context.WithValue(ctx, countedKey{}, true)
}

// Around returns a Handler that passes requests to next within the limits.
func (l *Limiter) Around(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) { return l.handle(ctx, req, next) })
}

// A bucket holds the counts of one key.
type bucket struct {
	rate    counter
	rest    counter
	bytes   volume
	running turns

	users int // number of calls that run or wait; guarded by Limiter.mu
	used  time.Time
}

func (l *Limiter) handle(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	if !l.options.Matches(req) {
		if err := l.takeRest(ctx, req); err != nil {
			return l.refused(ctx, req, err)
		}
		return next.Handle(ctx, req)
	}
	b, err := l.enter(l.options.Key(req))
	if err != nil {
		return l.refused(ctx, req, err)
	}
	defer l.leave(b)
	if b.bytes != nil {
		if over := b.bytes.over(time.Now()); over >= 0 {
			pause := time.Duration(math.Ceil(over*l.options.BytesIn.Seconds()/float64(l.options.Bytes))+1) * time.Second
			return l.refused(ctx, req, fmt.Errorf("too much was read: %d bytes in %s are allowed for %s; try again in %v", l.options.Bytes, word(l.options.BytesIn), l.options.Whose, pause))
		}
	}
	if ctx.Value(countedKey{}) == nil { // in each round, because clients can repeat one
		if err := l.begin(ctx, b.rate, "calls", l.options.Calls); err != nil {
			return l.refused(ctx, req, err)
		}
	}
	if b.running != nil {
		began := time.Now()
		waited, err := b.running.enter(ctx)
		if err != nil {
			err = fmt.Errorf("waited for its turn, as at most %d calls may run at the same time for %s: %w", l.options.Concurrent, l.options.Whose, err)
			l.note(ctx, time.Since(began), err.Error())
			return mcp.Result{}, err
		}
		if waited {
			l.note(ctx, time.Since(began), "")
		}
		defer b.running.leave()
	}
	result, err := next.Handle(ctx, req)
	if b.bytes == nil || err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	result.JSON = body // the encoded result is also used to send it
	b.bytes.spend(len(body))
	return result, nil
}

// note notes that a request waited or was refused.
func (l *Limiter) note(ctx context.Context, waited time.Duration, refused string) {
	if n := mcp.NoteObserverOf(ctx, note.Limit); n != nil {
		n.Note(note.Limit, limited{l.options.Whose, waited, refused})
	}
}

// A limited is the note about a request that waited or was refused.
type limited struct {
	Whose   string        `json:"whose"`
	Waited  time.Duration `json:"waited,omitempty"` // nanoseconds of waiting for its turn
	Refused string        `json:"refused,omitempty"`
}

// Decision implements [note.Decider].
func (l limited) Decision() (d note.Decision, ok bool) {
	whose := l.Whose
	if whose == theCaller {
		whose = "each caller"
	}
	return note.Decision{Effect: "deny", Rule: "the limit of " + whose, Reason: l.Refused, Refused: true, Whatever: true}, l.Refused != ""
}

// takeRest counts a request that is not a call. It returns an error if the limit is reached.
func (l *Limiter) takeRest(ctx context.Context, req *mcp.Request) error {
	if l.options.Rest == 0 {
		return nil
	}
	b, err := l.enter(l.options.Key(req))
	if err == nil {
		err = l.begin(ctx, b.rest, "requests", l.options.Rest)
		l.leave(b)
	}
	if err != nil { // not a code that means an unknown task
		return &mcp.Error{Code: mcp.CodeInternalError, Message: err.Error(), Data: refused.With(nil, refused.Limit)}
	}
	return nil
}

// begin counts one event in c, or returns an error with the time of the next attempt. A nil c is no
// limit.
func (l *Limiter) begin(ctx context.Context, c counter, what string, most int) error {
	if c == nil {
		return nil
	}
	if pause, ok := c.take(ctx); !ok {
		return fmt.Errorf("too many %s: %d in %s are allowed for %s; try again in %v", what, most, word(l.options.In), l.options.Whose, time.Duration(math.Ceil(pause.Seconds()))*time.Second)
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

// refused returns the result of a refused request. For a tool it is a result that the model reads.
func (l *Limiter) refused(ctx context.Context, req *mcp.Request, why error) (mcp.Result, error) {
	l.note(ctx, 0, why.Error())
	if req.Method != "tools/call" {
		if e, is := errors.AsType[*mcp.Error](why); is {
			return mcp.Result{}, e
		}
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInvalidParams, Message: why.Error(), Data: refused.With(nil, refused.Limit)}
	}
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(why.Error())}}, Meta: refused.With(nil, refused.Limit)}, nil
}

// enter returns the bucket of a key and counts one more call in it.
func (l *Limiter) enter(key any) (*bucket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.all[key]
	if b == nil {
		if len(l.all) >= maxKeys { // drop a key without calls that was not used for long
			var oldest any
			found, looked := false, 0
			for other, o := range l.all {
				if looked++; found && looked > maxLooked {
					break
				}
				if o.users == 0 && (!found || o.used.Before(l.all[oldest].used)) {
					oldest, found = other, true
				}
			}
			if found {
				delete(l.all, oldest)
			}
		}
		b = l.bucket(key)
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
