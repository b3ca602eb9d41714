package archive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
)

// imported are the entries of a conversation that somebody else wrote.
func imported(t *testing.T, entries string) []host.Entry {
	t.Helper()
	a := fresh(t)
	meta, err := a.Import(t.Context(), strings.NewReader(fmt.Sprintf(`{"format":%q,"version":1,"meta":{},"entries":[%s]}`, exportName, entries)))
	if err != nil {
		t.Fatal(err)
	}
	_, all, err := a.Load(t.Context(), meta.ID)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Nobody's program ends because of what a file says.
func TestAnImportEndsNoProgram(t *testing.T) {
	entries := imported(t, `{"at":"2030-01-01T00:00:00Z","message":{"role":"user","parts":[{"text":"hello"}]}},{"at":"2030-01-01T00:00:00Z","summary":{"messages":-1,"text":"x"}}`)
	h, err := host.New(host.Options{Model: scripted.New(scripted.Say("hello"))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("it panics: %v", p)
		}
	}()
	c := h.Conversation(nil, entries...)
	c.Ledger()
	if _, err := c.Ask(t.Context(), host.Question{Text: "go on"}); err != nil {
		t.Error(err)
	}
}
