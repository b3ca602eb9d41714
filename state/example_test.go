package state_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/state"
)

// Example counts with one caller at a time, across all processes that use the store.
func Example() {
	ctx, store := context.Background(), state.NewMemory(0) // or sqlite.Open(ctx, "state.db")
	for range 3 {
		err := state.While(ctx, store, "counting", 10*time.Second, func(ctx context.Context, hold state.Hold) error {
			before, err := store.Get(ctx, "count")
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return err
			}
			_, err = store.Put(ctx, "count", append(before.Value, '|'), state.Write{Hold: hold})
			return err
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	count, err := store.Get(ctx, "count")
	fmt.Println(string(count.Value), err)
	// Output: ||| <nil>
}
