package reach_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

func TestOutputOfASlowStartIsShownOnce(t *testing.T) {
	err := fmt.Errorf("server %q: %w", "x", launch.StartTimeoutError(time.Minute, "its standard error ends with: fetching"))
	want := `server "x": no handshake within 1m0s; the operator's log has more; "startTimeout" in its entry allows more time`
	if got := mcp.RedactError(err).Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAStartMayTakeLongerWhileAPackageRunnerWorks(t *testing.T) {
	works := func(until time.Duration) func(time.Duration) (time.Duration, int) {
		return func(at time.Duration) (time.Duration, int) { return min(at, until) / 10, 0 }
	}
	says := func(until time.Duration) func(time.Duration) (time.Duration, int) {
		return func(at time.Duration) (time.Duration, int) { return 0, int(min(at, until) / time.Second) }
	}
	for what, tt := range map[string]struct {
		runner string
		limit  time.Duration
		does   func(at time.Duration) (time.Duration, int)
		ends   time.Duration // of the start
		yields time.Duration // when others may start
	}{
		"a program that does nothing":            {"", 0, works(0), 2 * time.Minute, 16 * time.Second},
		"a program that works":                   {"", 0, works(time.Hour), 2 * time.Minute, 2 * time.Minute},
		"a program with a limit of its own":      {"", 5 * time.Minute, works(0), 5 * time.Minute, 16 * time.Second},
		"a runner that does nothing":             {"npx installs x", 0, works(0), 2 * time.Minute, 16 * time.Second},
		"a runner that uses the processor":       {"npx installs x", 0, works(time.Hour), 10 * time.Minute, 10 * time.Minute},
		"a runner that works for five minutes":   {"npx installs x", 0, works(5 * time.Minute), 5*time.Minute + 16*time.Second, 5*time.Minute + 16*time.Second},
		"a runner that writes to standard error": {"docker fetches its image", 0, says(time.Hour), 10 * time.Minute, 10 * time.Minute},
		"a runner with a longer limit":           {"npx installs x", 20 * time.Minute, works(time.Hour), 20 * time.Minute, 20 * time.Minute},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var ended, other time.Duration
				var cause error
				first := true
				dial := func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
					if !first {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					first = false
					w := &launch.StartWatch{Start: start, Runner: tt.runner, Limit: tt.limit}
					if w.Limit == 0 {
						w.Limit = launch.DefaultStart
					}
					ctx, cancel := context.WithCancelCause(ctx)
					w.Watch(ctx, cancel, func() (time.Duration, int, string) {
						used, lines := tt.does(time.Since(began))
						return used, lines, "its standard error ends with: fetching"
					})
					ended, cause = time.Since(began), context.Cause(ctx)
					return nil, cause
				}
				g := gateway.New(gateway.Options{MaxStarts: 1, Logger: slog.New(slog.DiscardHandler)})
				defer g.Close()
				if err := g.Add("one", gateway.Upstream{Program: true, Dial: dial}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := g.Add("other", gateway.Upstream{Program: true, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
					other = time.Since(began)
					<-ctx.Done()
					return nil, errors.New("ended")
				}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				if s := g.Status()[0]; s.Note != tt.runner || s.State != gateway.Connecting || g.Status()[1].State != gateway.Waiting {
					t.Errorf("after ten seconds: %+v", g.Status())
				}
				if used, lines := tt.does(time.Minute); used == 0 && lines == 0 && tt.runner != "" {
					time.Sleep(10 * time.Second)
					if s := g.Status()[0]; s.Note != "it shows no progress" {
						t.Errorf("after twenty seconds without work: %q", s.Note)
					}
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if ended != tt.ends || other != tt.yields || !strings.Contains(cause.Error(), "no handshake within "+tt.ends.String()+"; its standard error ends with: fetching") {
					t.Errorf("it ended after %v, others could start after %v: %v", ended, other, cause)
				}
			})
		})
	}
}

func TestStartInstallsWhilePackageRunnerWorks(t *testing.T) {
	for _, tt := range []struct {
		name, runner string
		works        bool
		want         map[time.Duration]bool
	}{
		{"a runner that works for ten seconds", "npx installs x", true, map[time.Duration]bool{time.Second: false, 5 * time.Second: true, 11 * time.Second: true, 15 * time.Second: false}},
		{"a runner that does nothing", "npx installs x", false, map[time.Duration]bool{5 * time.Second: false}},
		{"another program that works", "", true, map[time.Duration]bool{5 * time.Second: false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := &launch.StartWatch{Start: quietStart{}, Runner: tt.runner, Limit: launch.DefaultStart}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				go w.Watch(ctx, cancel, func() (used time.Duration, lines int, said string) {
					if tt.works {
						used = min(time.Since(began), 10*time.Second) / 10
					}
					return used, 0, ""
				})
				for _, at := range slices.Sorted(maps.Keys(tt.want)) {
					time.Sleep(at - time.Since(began))
					if got := w.Installs(); got != tt.want[at] {
						t.Errorf("after %v: %v, want %v", at, got, tt.want[at])
					}
				}
			})
		})
	}
}

// A quietStart is a starter that notes nothing.
type quietStart struct{}

func (quietStart) Note(string) {}

func (quietStart) Yield() {}

func TestFailedStartsQuoteStandardError(t *testing.T) {
	w := &launch.StartWatch{}
	if _, _, said := w.Progress(); said != "" {
		t.Errorf("nothing was written, and it says %q", said)
	}
	w.OnStderr(nil)("Error: no key")
	if _, lines, said := w.Progress(); lines != 1 || said != "its standard error ends with: Error: no key" {
		t.Errorf("after %d lines it says %q", lines, said)
	}
	w.OnSkipped(nil)("{]")
	if _, _, said := w.Progress(); said != "its standard output has text that is not a message: {]" {
		t.Errorf("it says %q", said)
	}
}
