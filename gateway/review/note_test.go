package review_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
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

func TestObserversSeeWithheldTools(t *testing.T) {
	var server changing
	server.set(map[string]string{"add": "adds"})
	pins := load(t, filepath.Join(t.TempDir(), "pins.json"))
	h := review.Middleware(review.Options{Server: "sums", Pins: func() *guard.Pins { return pins }, Mode: review.All})(&server)
	var n notes
	if _, err := h.Handle(mcp.WithNoteObserver(t.Context(), &n), mcp.NewRequest("tools/list", nil)); err != nil {
		t.Fatal(err)
	}
	if want := (notes{`review {"server":"sums","withheld":[{"kind":"tool","name":"add","why":"new"}]}`}); !slices.Equal(n, want) {
		t.Errorf("got %s", n)
	}
}
