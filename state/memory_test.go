package state_test

import (
	"errors"
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
