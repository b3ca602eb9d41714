package gateway

import (
	"context"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// looking is an error that records the number of running requests when it is inspected.
type looking struct {
	b       *breaker
	running int64
}

func (l *looking) Error() string { return "no response" }

func (l *looking) As(any) bool {
	l.running = l.b.running.Load()
	return false
}

// Otherwise a ping that times out in between would end a server that has just responded, after it
// was busy for long.
func TestARequestRunsUntilItIsNotedHowItWent(t *testing.T) {
	var b *breaker
	err := new(looking)
	b = (&Gateway{options: Options{Unanswered: defaultUnanswered}}).newBreaker("s", mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, err }), func() {})
	err.b = b
	if _, got := b.Handle(t.Context(), &mcp.Request{Method: "tools/call"}); got != error(err) || err.running != 1 || b.running.Load() != 0 {
		t.Errorf("%v: %d requests ran when it was noted, and %d do after that", got, err.running, b.running.Load())
	}
}
