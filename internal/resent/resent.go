package resent

import (
	"context"
	"sync/atomic"
)

type countKey struct{}

// A Count is how often a request was sent again. It is safe for concurrent use.
type Count struct{ n atomic.Int32 }

// Times returns how often the request was sent again until now.
func (c *Count) Times() int { return int(c.n.Load()) }

// Counted returns a context for one request, and where it is counted how often that is sent again.
func Counted(ctx context.Context) (context.Context, *Count) {
	c := new(Count)
	return context.WithValue(ctx, countKey{}, c), c
}

// Add counts that the request with this context is sent again; it does nothing where nobody counts.
func Add(ctx context.Context) {
	if c, _ := ctx.Value(countKey{}).(*Count); c != nil {
		c.n.Add(1)
	}
}
