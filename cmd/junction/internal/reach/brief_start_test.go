package reach_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/launch"
)

// A command that asks many servers waits briefly for one that shows no work, and as long as others
// for one that works.
func TestBriefStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		runner       string
		works, limit time.Duration
		brief        time.Duration
		ends         time.Duration
	}{
		"without work":                  {brief: launch.BriefStart, ends: 20 * time.Second},
		"work at first":                 {works: 30 * time.Second, brief: launch.BriefStart, ends: 46 * time.Second},
		"work all the time":             {works: time.Hour, brief: launch.BriefStart, ends: launch.DefaultStart},
		"a package runner that rests":   {runner: "npx installs x", brief: launch.BriefStart, ends: 20 * time.Second},
		"a package runner that works":   {runner: "npx installs x", works: 5 * time.Minute, brief: launch.BriefStart, ends: 5*time.Minute + 16*time.Second},
		"the limit of the entry counts": {limit: time.Minute, ends: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := &launch.StartWatch{Start: quietStart{}, Runner: tt.runner, Limit: launch.StartLimit(tt.limit), Brief: tt.brief}
				ctx, cancel := context.WithCancelCause(t.Context())
				w.Watch(ctx, cancel, func() (used time.Duration, lines int, said string) {
					return min(time.Since(began), tt.works) / 10, 0, ""
				})
				if took := time.Since(began); took != tt.ends || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) || !strings.Contains(context.Cause(ctx).Error(), "no handshake within "+tt.ends.String()) {
					t.Errorf("it ended after %v: %v", took, context.Cause(ctx))
				}
				if said := context.Cause(ctx).Error(); strings.Contains(said, "or --timeout") != (tt.brief > 0 && tt.works < time.Hour) {
					t.Errorf("the remedy: %s", said)
				}
			})
		})
	}
}
