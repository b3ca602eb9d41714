package secrets_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/gateway/secrets"
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

func TestObserversSeeWhichSecretsWereFound(t *testing.T) {
	h := secrets.Middleware(secrets.Options{Arguments: true, Results: true})(posting())
	var n notes
	for _, params := range []string{`{"name":"post","arguments":{"Text":"` + token() + `"}}`, `{"name":"config"}`, `{"name":"post","arguments":{"Text":"hello"}}`} {
		if _, err := h.Handle(mcp.WithNoteObserver(t.Context(), &n), mcp.NewRequest("tools/call", json.RawMessage(params))); err != nil {
			t.Fatal(err)
		}
	}
	if want := (notes{`secrets {"in":"arguments","found":"GitHub token"}`, `secrets {"in":"result","found":"GitHub token"}`}); !slices.Equal(n, want) {
		t.Errorf("got %s", n)
	}
}
