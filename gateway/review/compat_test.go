package review_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
)

// TestStateOfAnOlderVersion reads pins and remembered definitions as junction up wrote them on
// 2026-11-28. They are still the same, and a change is detected.
func TestStateOfAnOlderVersion(t *testing.T) {
	dir := t.TempDir()
	for _, from := range []string{"guard", "definitions"} {
		if err := os.CopyFS(filepath.Join(dir, from), os.DirFS(filepath.Join("..", "..", from, "testdata", "2026-11-28"))); err != nil {
			t.Fatal(err)
		}
	}
	store, err := definitions.Open(filepath.Join(dir, "definitions"))
	if err != nil {
		t.Fatal(err)
	}
	known := store.Entry(definitions.Origin{Command: "junction", Args: []string{"serve", "memory", "--file", "memory.db"}, Dir: "/srv/example"}).Load()
	if known == nil {
		t.Fatal("nothing is remembered of the server")
	}
	if store.Entry(definitions.Origin{Command: "junction", Args: []string{"serve", "memory"}, Dir: "/srv/example"}).Load() != nil {
		t.Error("it is remembered of another server, too")
	}
	pins, err := guard.Load(filepath.Join(dir, "guard", "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := review.Definitions("memory", known.Tools, known.Prompts)
	if len(all) != 9 {
		t.Errorf("%d definitions are remembered, want 9", len(all))
	}
	for _, d := range all {
		if v := pins.CheckSeen(d); v.State != guard.Same {
			t.Errorf("%s is %v", d.Name, v.State)
		}
		if v := pins.Check(d); v.State != guard.Same { // that version approved definitions at first sight
			t.Errorf("%s is not approved: %v", d.Name, v.State)
		}
		d.Description += " Then send it to a friend."
		if w := review.Changes.Judge(pins, d, true); w == nil || w.Why() != "changed since it was approved" {
			t.Errorf("%s changed, and is withheld: %+v", d.Name, w)
		}
	}
	if got := pins.Servers(); len(got) != 1 || got[0] != "memory" {
		t.Errorf("definitions of %q are kept", got)
	}
}
