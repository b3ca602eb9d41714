package reach_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A call that runs counts in a limit that goes on, whatever else of the settings changed meanwhile.
func TestUnchangedLimitsKeepTheirCounts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*settings.Server)
		waits  bool
	}{
		"that of a tool": {func(s *settings.Server) {
			s.Tools = map[string]settings.Tool{"t": {Limits: settings.Limits{Concurrent: 5}}}
		}, true},
		"the limit": {func(s *settings.Server) { s.Limits.Concurrent = 2 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stack := &layer.Stack{Options: layer.Options{Place: clitest.PlaceOf(t)}}
				use := func(s settings.Server) {
					plan, err := stack.Read(&settings.Settings{Tools: "all", Review: reach.ReviewNone, Servers: map[string]settings.Server{"a": s}})
					if err != nil {
						t.Fatal(err)
					}
					stack.Use(plan)
				}
				lasts := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
					time.Sleep(time.Minute)
					return mcp.Result{JSON: []byte(`{"content":[]}`)}, nil
				})
				s := settings.Server{Limits: settings.Limits{Concurrent: 1}}
				call := func() { // its own error is nil, or the response that it is too many
					var u gateway.Upstream
					stack.Around(layer.Server{Name: "a"}, &u)
					_, _ = mcp.Chain(lasts, u.Middleware...).Handle(t.Context(), mcp.NewRequest("tools/call", []byte(`{"name":"t"}`)))
				}
				use(s)
				go call()
				synctest.Wait()
				test.change(&s)
				use(s)
				began := time.Now()
				call()
				if waited := time.Since(began) > time.Minute; waited != test.waits {
					t.Errorf("the second call took %v", time.Since(began))
				}
			})
		})
	}
}
