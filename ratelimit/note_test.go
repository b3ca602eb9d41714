package ratelimit

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// notes are what one who watches a request hears.
type notes []string

func (n *notes) Note(kind string, note any) {
	text, err := json.Marshal(note)
	if err != nil {
		panic(err)
	}
	*n = append(*n, kind+" "+string(text))
}

func TestObserversSeeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Middleware(Options{Calls: 2, In: time.Minute, Concurrent: 1, Whose: "client"})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			time.Sleep(3 * time.Second)
			return mcp.Result{}, nil
		}))
		var first, second, third notes
		began := make(chan struct{})
		go func() {
			defer close(began)
			_ = call(mcp.WithNoteObserver(t.Context(), &first), h, nil)
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		if err := call(mcp.WithNoteObserver(t.Context(), &second), h, nil); err != nil {
			t.Error(err)
		}
		<-began
		_ = call(mcp.WithNoteObserver(t.Context(), &third), h, nil)
		if len(first) != 0 || !slices.Equal(second, notes{`limit {"whose":"client","waited":2000000000}`}) {
			t.Errorf("%s, %s", first, second)
		}
		if want := (notes{`limit {"whose":"client","refused":"too many calls: 2 in a minute are allowed for client; try again in 24s"}`}); !slices.Equal(third, want) {
			t.Errorf("%s", third)
		}
	})
}

// Who looks for a call that got no answer sees that it waited for its turn.
func TestObserversSeeCallsThatGaveUpInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Middleware(Options{Concurrent: 1, Whose: "client"})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			time.Sleep(3 * time.Second)
			return mcp.Result{}, nil
		}))
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = call(t.Context(), h, nil)
		}()
		synctest.Wait()
		var heard notes
		ctx, cancel := context.WithTimeout(mcp.WithNoteObserver(t.Context(), &heard), time.Second)
		defer cancel()
		if err := call(ctx, h, nil); err == nil {
			t.Error("it was let through")
		}
		<-over
		if want := (notes{`limit {"whose":"client","waited":1000000000,"refused":"waited for its turn, as at most 1 calls may run at the same time for client: context deadline exceeded"}`}); !slices.Equal(heard, want) {
			t.Errorf("%s", heard)
		}
	})
}
