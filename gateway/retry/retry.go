package retry

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// firstPause is the time before the first repetition. The time doubles with each repetition, up
	// to lastPause.
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
	// maxTimes is the maximum number of repetitions.
	maxTimes = 10
)

// Options decide which requests are repeated.
type Options struct {
	// Times returns how many times a request may be repeated, at most 10, or 0 if it must not be
	// sent twice. A request that only reads may be repeated, and so may a call of a tool that
	// claims to be read-only or idempotent. Times is called after a request got no response. It
	// must be safe for concurrent use.
	Times func(req *mcp.Request) int
}

// Middleware returns middleware that repeats requests. The first repetition is after 250 ms, and
// the pause doubles up to 10 seconds, as long as the context of the request allows. A request that
// got a response is never repeated, even if the response is an error.
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
				if n := mcp.NoteObserverOf(ctx, note.Retry); n != nil {
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

// An again is the note of a repeated request.
type again struct {
	Pause time.Duration `json:"pause"` // pause before the repetition, in nanoseconds
	After string        `json:"after"` // error of the previous attempt
}

// silent reports whether err means that the server sent no response.
func silent(ctx context.Context, err error) bool {
	_, answered := errors.AsType[*mcp.Error](err)
	return !answered && !errors.Is(err, mcp.ErrInputRequired) && !errors.Is(err, mcp.ErrClosed) && ctx.Err() == nil
}
