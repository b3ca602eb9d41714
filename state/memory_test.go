package state_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/suite"
)

func TestMemory(t *testing.T) {
	suite.Run(t, func(*testing.T) func() state.Store {
		m := state.NewMemory(0)
		return func() state.Store { return m }
	})
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
