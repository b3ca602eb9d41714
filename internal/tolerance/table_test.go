package tolerance

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/note"
)

const specification = "../../docs/specification.md"

// TestTableInDocs compares docs/specification.md with the table; UPDATE=1 writes it.
func TestTableInDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| tolerance | a server sends, or a client that it asked | Junction uses | the specification |\n|---|---|---|---|\n")
	for _, r := range Table() {
		b.WriteString("| `" + r.Name + "` | " + r.Comes + " | " + r.Used + " | " + r.Rule + " |\n")
	}
	page, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(page, []byte("| tolerance |"))
	if at < 0 {
		t.Fatal("docs/specification.md has no table of tolerances")
	}
	end := len(page)
	if n := bytes.Index(page[at:], []byte("\n\n")); n >= 0 {
		end = at + n + 1
	}
	if string(page[at:end]) == b.String() {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("docs/specification.md: the table of tolerances is not that of the code; UPDATE=1 writes\n%s", b.String())
	}
	if err := os.WriteFile(specification, slices.Concat(page[:at], []byte(b.String()), page[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRowsAreComplete checks that each tolerance has a row with a unique name.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range Table() {
		if r.Name == "" || r.Comes == "" || r.Used == "" || r.Rule == "" || seen[r.Name] || strings.Contains(r.Name+r.Comes+r.Used+r.Rule, "|") {
			t.Errorf("row %d: %+v", i, r)
		}
		seen[r.Name] = true
	}
}

type notes []string

func (n *notes) Note(kind string, note any) {
	text, _ := json.Marshal(note)
	*n = append(*n, kind+" "+string(text))
}

type noting struct {
	context.Context
	to *notes
}

func (n noting) Value(key any) any {
	if key == (note.Key{}) {
		return n.to
	}
	return n.Context.Value(key)
}

// TestMet checks that a case is in the log, in the notes of the request and in the records of the
// server.
func TestMet(t *testing.T) {
	var log bytes.Buffer
	var seen notes
	var records Records
	next := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	NotUTF8.Met(noting{t.Context(), &seen}, records.Logger(next, ""), "a", "tools/call")
	NotUTF8.Met(t.Context(), records.Logger(next, "b"), "https://b.example", "")
	NotUTF8.Met(t.Context(), records.Logger(next, "b"), "https://b.example", "later")
	HalfSurrogate.Met(t.Context(), records.Logger(slog.New(slog.DiscardHandler), "b"), "", "tools/list")
	if want := `level=DEBUG msg="mcp: bytes in a string that are not UTF-8" server=a tolerance=not-utf8 where=tools/call breach="messages are UTF-8 (basic)"` + "\n"; !strings.HasPrefix(log.String(), want) {
		t.Errorf("log:\n%s\nwant\n%s", log.String(), want)
	}
	row := Table()[NotUTF8]
	used, _ := json.Marshal(row.Used)
	if want := `tolerance {"name":"not-utf8","comes":"bytes in a string that are not UTF-8","used":` + string(used) + `,"where":"tools/call"}`; len(seen) != 1 || seen[0] != want {
		t.Errorf("notes %q, want %q", seen, want)
	}
	if got, want := records.Of("a"), []string{"not-utf8: bytes in a string that are not UTF-8, in tools/call"}; !slices.Equal(got, want) {
		t.Errorf("records of a: %q, want %q", got, want)
	}
	want := []string{"half-surrogate: half of a surrogate pair in a string, in tools/list", "not-utf8: bytes in a string that are not UTF-8"}
	if got := records.Of("b"); !slices.Equal(got, want) {
		t.Errorf("records of b: %q, want %q", got, want)
	}
	if got := records.Of("c"); got != nil {
		t.Errorf("records of c: %q", got)
	}
}
