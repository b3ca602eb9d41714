package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// Requests of a program that answers nothing delay a changed configuration no longer than until it
// would be restarted anyway.
func TestAProgramThatAnswersNothingIsReplacedWhenItWouldBeRestarted(t *testing.T) {
	for _, test := range []struct {
		name             string
		timeout, patient time.Duration
		after            time.Duration // the time of the change
		want             string
	}{
		{"while a client waits", -1, 0, 30 * time.Minute, `server "s" answered neither a ping nor a request for 30m0s: the response is lost, and the server may have executed the request`},
		{"once its call timed out", 20 * time.Second, 0, 20 * time.Second, "no response or progress for 20s"},
		{"once the client gave up", -1, 50 * time.Second, 50 * time.Second, "canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before, after := &moody{}, &moody{}
				upstream := func(s *moody) gateway.Upstream {
					dial := s.dial(test.timeout)
					return gateway.Upstream{Program: true, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) { return dial(ctx) }}
				}
				g, c := replacing(t, quiet, upstream(before))
				before.mute.Store(true)
				before.deaf.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.patient > 0 {
					defer time.AfterFunc(test.patient, cancel).Stop()
				}
				failed := make(chan error, 1)
				go func() { _, err := c.CallTool(ctx, "s__t", nil); failed <- err }()
				synctest.Wait()
				must(t, g.Replace("s", upstream(after)))
				time.Sleep(test.after - time.Second)
				if after.starts.Load() != 0 {
					t.Error("it was replaced before")
				}
				time.Sleep(3 * time.Second)
				if _, err := c.CallTool(t.Context(), "s__t", nil); err != nil || after.starts.Load() != 1 || before.starts.Load() != 1 {
					t.Errorf("after %v the new one was started %d times, and the other %d: %v", test.after, after.starts.Load(), before.starts.Load(), err)
				}
				if err := <-failed; err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the call: %v", err)
				}
			})
		})
	}
}
