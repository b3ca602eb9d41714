package retry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
)

// notes are the notes of a request.
type notes []string

func (n *notes) Note(kind string, note any) {
	text, err := json.Marshal(note)
	if err != nil {
		panic(err)
	}
	*n = append(*n, kind+" "+string(text))
}

func TestObserversSeeRetriesAndTheirReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		h := Middleware(Options{Times: func(*mcp.Request) int { return 3 }})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			if made++; made < 3 {
				return mcp.Result{}, errors.New("lost")
			}
			return mcp.Result{}, nil
		}))
		var n notes
		if _, err := h.Handle(mcp.WithNoteObserver(t.Context(), &n), mcp.NewRequest("tools/list", nil)); err != nil {
			t.Fatal(err)
		}
		if want := (notes{`retry {"pause":250000000,"after":"lost"}`, `retry {"pause":500000000,"after":"lost"}`}); !slices.Equal(n, want) {
			t.Errorf("got %s", n)
		}
	})
}
