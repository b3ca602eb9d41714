package state_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/statetest"
)

func TestMemory(t *testing.T) {
	statetest.Run(t, statetest.Driver{Begin: func(*testing.T) func() state.Shared {
		m := state.NewMemory(0)
		return func() state.Shared { return m }
	}})
}

func TestMemoryHoldsSoManyBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, m := t.Context(), state.NewMemory(10_000)
		put := func(key string, size int, ttl time.Duration) error {
			_, err := m.Put(ctx, key, make([]byte, size), state.Write{TTL: ttl})
			return err
		}
		for _, step := range []struct {
			what string
			err  error
			want error
		}{
			{"the first", put("a", 4_000, time.Second), nil},
			{"the second", put("b", 4_000, 0), nil},
			{"one too many", put("c", 4_000, 0), state.ErrFull},
			{"one that grows too much", put("b", 8_000, 0), state.ErrFull},
			{"one that grows a little", put("b", 5_000, 0), nil},
		} {
			if !errors.Is(step.err, step.want) {
				t.Errorf("%s: got %v, want %v", step.what, step.err, step.want)
			}
		}
		time.Sleep(time.Second)
		if err := put("c", 4_000, 0); err != nil {
			t.Errorf("after the first expired: %v", err)
		}
		if err := m.Delete(ctx, "b", state.Hold{}); err != nil {
			t.Error(err)
		}
		if err := put("d", 5_000, 0); err != nil {
			t.Errorf("after the second was deleted: %v", err)
		}
	})
}

// TestMemoryIsDividedAmongOwners checks that the owner with most bytes loses its oldest value, and
// that values without an owner stay.
func TestMemoryIsDividedAmongOwners(t *testing.T) {
	for _, tt := range []struct {
		name string
		puts []string // owner/key, of 2,000 bytes each; the last one may fail
		want string   // remaining keys
		err  error
	}{
		{"there is room for four", []string{"a/1", "a/2", "b/3", "/4"}, "1 2 3 4", nil},
		{"the one that holds most loses its oldest", []string{"a/1", "a/2", "a/3", "b/4", "b/5"}, "2 3 4 5", nil},
		{"so it does for its own", []string{"b/1", "a/2", "a/3", "a/4", "a/5"}, "1 3 4 5", nil},
		{"and for a value of nobody", []string{"a/1", "a/2", "a/3", "b/4", "/5"}, "2 3 4 5", nil},
		{"a value that is written again is the newest", []string{"a/1", "a/2", "a/3", "b/4", "a/1", "b/5"}, "1 3 4 5", nil},
		{"those of nobody stay", []string{"/1", "/2", "/3", "/4", "a/5"}, "1 2 3 4", state.ErrFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := state.NewMemory(9_000)
			for i, put := range tt.puts {
				owner, key, _ := strings.Cut(put, "/")
				_, err := m.Put(t.Context(), key, make([]byte, 2_000), state.Write{Owner: owner})
				want := error(nil)
				if i == len(tt.puts)-1 {
					want = tt.err
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", put, err, want)
				}
			}
			entries, err := m.List(t.Context(), "", "", 100)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, e := range entries {
				keys = append(keys, e.Key)
			}
			if got := strings.Join(keys, " "); got != tt.want {
				t.Errorf("there are %s, want %s", got, tt.want)
			}
		})
	}
}

// TestMemoryDividesLogsAmongOwners checks that the oldest record of the owner with most bytes goes
// first, whether it is a value or in a log.
func TestMemoryDividesLogsAmongOwners(t *testing.T) {
	ctx, m := t.Context(), state.NewMemory(12_000)
	add := func(owner, log string) uint64 {
		position, err := m.Append(ctx, log, make([]byte, 2_000), state.Write{Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return position
	}
	if _, err := m.Put(ctx, "v", make([]byte, 2_000), state.Write{Owner: "a"}); err != nil {
		t.Fatal(err)
	}
	first := add("a", "a/1")
	add("a", "a/1")
	add("b", "b")
	add("b", "b") // the fifth
	count := func(log string) int {
		records, err := m.Read(ctx, log, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(records)
	}
	add("b", "b")
	if _, err := m.Get(ctx, "v"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("the oldest value of a stays: %v", err)
	}
	add("b", "b")
	if got := []int{count("a/1"), count("b")}; got[0] != 2 || got[1] != 3 {
		t.Errorf("there are %d and %d records, want 2 and 3", got[0], got[1])
	}
	if _, err := m.Put(ctx, "of nobody", make([]byte, 6_000), state.Write{}); err != nil {
		t.Fatal(err)
	}
	if got := []int{count("a/1"), count("b")}; got[0] != 1 || got[1] != 1 {
		t.Errorf("there are %d and %d records, want 1 and 1", got[0], got[1])
	}
	if _, err := m.Read(ctx, "a/1", first-1, 10); !errors.Is(err, state.ErrTrimmed) {
		t.Errorf("a reader does not see that a record was evicted: %v", err)
	}
	if _, err := m.Append(ctx, "l", make([]byte, 7_000), state.Write{}); !errors.Is(err, state.ErrFull) {
		t.Errorf("got %v, want %v", err, state.ErrFull)
	}
	for _, log := range []string{"a/1", "b"} {
		if err := m.Trim(ctx, log, state.Keep{Count: -1}, state.Hold{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Append(ctx, "l", make([]byte, 5_000), state.Write{}); err != nil {
		t.Errorf("after the logs were removed: %v", err)
	}
}

// slow is a lease that another caller has, and whose server answers late.
type slow struct{ state.Lease }

func (slow) Acquire(ctx context.Context, _ string, _ time.Duration) (state.Hold, error) {
	select {
	case <-ctx.Done():
		return state.Hold{}, ctx.Err()
	case <-time.After(time.Second):
		return state.Hold{}, state.ErrHeld
	}
}

func TestWhileReportsWhyItWaitedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		err := state.While(ctx, slow{}, "l", time.Minute, func(context.Context, state.Hold) error { return nil })
		if !errors.Is(err, state.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// moody is a lease whose server is away for a second around each third of the lease's time.
type moody struct {
	state.Lease
	began time.Time
}

func (m moody) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	if at := (time.Since(m.began) + 500*time.Millisecond) % (ttl / 3); at < time.Second {
		return state.ErrUnavailable
	}
	return m.Lease.Renew(ctx, hold, ttl)
}

// A lease outlives a server that is away each time that a renewal is due.
func TestAFailedRenewalIsTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := moody{state.NewMemory(0), time.Now()}
		err := state.While(t.Context(), m, "l", 10*time.Second, func(ctx context.Context, _ state.Hold) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Minute):
				return nil
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}
