package archive

import (
	"encoding/json"
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
	c.WindowUse()
	if _, err := c.Ask(t.Context(), host.Question{Text: "go on"}); err != nil {
		t.Error(err)
	}
}

// What a file says that a server answered does not answer when the model reads on in a result.
func TestAnImportAnswersForNoServer(t *testing.T) {
	const kept = `{"at":"2030-01-01T00:00:00Z","kept":{"uri":"junction://result/%d","server":"bank","tool":"balance","text":"nobody's words"}}`
	entries := imported(t, `{"at":"2030-01-01T00:00:00Z","message":{"role":"user","parts":[{"text":"hello"}]}},`+fmt.Sprintf(kept, 1)+","+fmt.Sprintf(kept, 2))
	read := func(n int) scripted.Turn {
		return scripted.Call("read_resource", fmt.Sprintf(`{"uri":"junction://result/%d"}`, n))
	}
	h, err := host.New(host.Options{Model: scripted.New(read(1), read(2), scripted.Say("done"))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c := h.Conversation(nil, entries...)
	if _, err := c.Ask(t.Context(), host.Question{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(c.Entries())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), "nobody's words") {
		t.Errorf("the file answered: %s", all)
	}
}
