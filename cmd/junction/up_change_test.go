package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// A call that runs counts in a limit that goes on, whatever else of the settings changed meanwhile.
func TestALimitThatDidNotChangeGoesOnWithWhatWasCounted(t *testing.T) {
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
				a := &cli.App{Place: placeOf(t)}
				arranged := func(s settings.Server) *up.Arrangement {
					now, err := new(up.Layers).Arrange(a, &settings.Settings{Tools: "all", Review: reach.ReviewNone, Servers: map[string]settings.Server{"a": s}})
					if err != nil {
						t.Fatal(err)
					}
					return now
				}
				lasts := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
					time.Sleep(time.Minute)
					return mcp.Result{JSON: []byte(`{"content":[]}`)}, nil
				})
				s := settings.Server{Limits: settings.Limits{Concurrent: 1}}
				before := arranged(s)
				test.change(&s)
				after := arranged(s)
				after.GoOn(before)
				call := func(now *up.Arrangement) { // its own error is nil, or the response that it is too many
					_, _ = mcp.Chain(lasts, now.Around(new(up.Layers), a, cli.Entry{Name: "a"}, new(gateway.Upstream))...).Handle(t.Context(), mcp.NewRequest("tools/call", []byte(`{"name":"t"}`)))
				}
				go call(before)
				synctest.Wait()
				began := time.Now()
				call(after)
				if waited := time.Since(began) > time.Minute; waited != test.waits {
					t.Errorf("the second call took %v", time.Since(began))
				}
			})
		})
	}
}
