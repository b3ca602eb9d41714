package retry

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// firstPause is the time before the first repetition; it doubles each time, up to lastPause.
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
	// maxTimes is the maximum number of repetitions.
	maxTimes = 10
)

// Options decide which requests are repeated.
type Options struct {
	// Times returns how many times a request may be repeated, at most 10; 0 if it must not be made
	// twice. A request that only reads may, as may a call of a tool that claims to be read-only or
	// idempotent. Times is called after a request got no response, and must be safe for concurrent
	// use.
	Times func(req *mcp.Request) int
}

// Middleware returns middleware that repeats requests: after 250 ms, then after twice as long each
// time, up to 10 seconds, as long as the context of the request allows. A response, even an error,
// is never requested again.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			if err == nil || !silent(ctx, err) {
				return result, err
			}
			pause := firstPause
			for range min(o.Times(req), maxTimes) {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return result, err
				}
				if n := mcp.NoterOf(ctx, note.Retry); n != nil {
					n.Note(note.Retry, again{Pause: pause, After: err.Error()})
				}
				result, err = next.Handle(ctx, req)
				if err == nil || !silent(ctx, err) {
					return result, err
				}
				pause = min(2*pause, lastPause)
			}
			return result, err
		})
	}
}

// again is the note of a repeated request.
type again struct {
	Pause time.Duration `json:"pause"` // is the time before it, in nanoseconds
	After string        `json:"after"` // is the error of the attempt before
}

// silent reports whether an error means that there was no response.
func silent(ctx context.Context, err error) bool {
	_, answered := errors.AsType[*mcp.Error](err)
	return !answered && !errors.Is(err, mcp.ErrInputRequired) && !errors.Is(err, mcp.ErrClosed) && ctx.Err() == nil
}
