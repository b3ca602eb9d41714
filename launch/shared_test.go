package launch

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/state"
)

// The key of a store stays the same while state keys are rotated, and replicas that begin at the same
// time have the same one.
func TestTheKeyOfAStoreOutlivesStateKeys(t *testing.T) {
	store := state.NewMemory(0)
	key := func(c string) []byte { return []byte(strings.Repeat(c, 32)) }
	var all sync.WaitGroup
	made := make([][]byte, 8)
	for i := range made {
		all.Go(func() {
			var err error
			if made[i], err = SealShared(t.Context(), store, [][]byte{key("a")}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, other := range made {
		if !bytes.Equal(other, made[0]) || len(other) < 32 {
			t.Fatal("replicas have different keys")
		}
	}
	for _, step := range []struct {
		name string
		keys [][]byte
		err  error
	}{
		{"the next key is known", [][]byte{key("a"), key("b")}, nil},
		{"another key", [][]byte{key("c")}, errOtherKeys},
		{"the next key seals", [][]byte{key("b"), key("a")}, nil},
		{"a replica that is late", [][]byte{key("a"), key("b")}, nil},
		{"the next key seals again", [][]byte{key("b"), key("a")}, nil},
		{"the old key is gone", [][]byte{key("b")}, nil},
		{"the old key alone", [][]byte{key("a")}, errOtherKeys},
	} {
		got, err := SealShared(t.Context(), store, step.keys)
		if !errors.Is(err, step.err) || err == nil && !bytes.Equal(got, made[0]) {
			t.Errorf("%s: %x, %v", step.name, got, err)
		}
	}
	e, err := store.Get(t.Context(), sharedKey)
	if err != nil || bytes.Contains(e.Value, made[0]) {
		t.Errorf("the key is stored as it is, %v", err)
	}
}
