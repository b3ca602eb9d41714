// Package statetest tests implementations of [state.Shared].
package statetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
)

// A Driver is an implementation.
type Driver struct {
	// Begin makes an empty store. Each call of open returns another view of it, as if from another
	// process.
	Begin func(t *testing.T) (open func() state.Shared)
	// Served means that a server with a clock of its own has the data. Its tests run in parallel,
	// and wait for real but shorter times.
	Served bool
}

// of returns a time of the tests, which for servers is shorter: a second becomes 0.4, a minute
// 1.2 and an hour 1.5 seconds.
func (d Driver) of(t time.Duration) time.Duration {
	switch {
	case !d.Served || t == 0:
		return t
	case t <= time.Second:
		return t * 4 / 10
	case t <= time.Minute:
		return t / 50
	}
	return 1500 * time.Millisecond
}

// sleep waits for a time of the tests. Servers round times to milliseconds.
func (d Driver) sleep(t time.Duration) {
	if d.Served {
		t = d.of(t) + 5*time.Millisecond
	}
	time.Sleep(t)
}

// Run runs the tests of a store.
func Run(t *testing.T, d Driver) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if d.Served {
				t.Parallel()
				test(t, d, d.Begin(t))
				return
			}
			synctest.Test(t, func(t *testing.T) { test(t, d, d.Begin(t)) })
		})
	}
}
