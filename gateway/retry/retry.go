package retry

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// firstPause is the time before a request is sent again, doubled each time.
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
	// maxTimes bounds how often a request is sent again.
	maxTimes = 10
)

// Options say what is sent again.
type Options struct {
	// Times says how often a request may be sent again, at most 10 times; 0 for one that must not be made twice.
	// A request that reads may, and a call of a tool that says that it is read-only or idempotent. It is called
	// when nothing came back, and must be safe for concurrent use.
	Times func(req *mcp.Request) int
}

// Middleware returns middleware that sends requests again: after 250 ms, then after twice as long each time, as
// long as the context of the request allows. What the server answered, an error too, is never asked for again.
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

// again is what one who watches hears of a request that is sent again.
type again struct {
	Pause time.Duration `json:"pause"` // nanoseconds before it
	After string        `json:"after"` // why nothing came back
}

// silent reports whether an error says that nothing came back.
func silent(ctx context.Context, err error) bool {
	_, answered := errors.AsType[*mcp.Error](err)
	return !answered && !errors.Is(err, mcp.ErrInputRequired) && !errors.Is(err, mcp.ErrClosed) && ctx.Err() == nil
}
