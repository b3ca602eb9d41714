package guard

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	kept "github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// Replicas approve at the same time, and each finds everything that was approved, seen or forgotten.
func TestReplicasShareApprovals(t *testing.T) {
	store := kept.NewMemory(0)
	defer store.Close()
	load := func() *Pins {
		t.Helper()
		p, err := LoadShared(t.Context(), replicas.New(store, slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	definition := func(server string, i int) Definition {
		return Definition{Kind: Tool, Server: server, Name: fmt.Sprint(i), Description: "Does something."}
	}
	var all sync.WaitGroup
	for i := range 8 {
		p := load()
		all.Go(func() {
			if err := p.Approve(definition("a", i), definition("b", i)); err != nil {
				t.Error(err)
			}
			if err := p.See(definition("a", 100+i)); err != nil {
				t.Error(err)
			}
			if err := p.Save(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	p := load()
	for i := range 8 {
		if p.Check(definition("a", i)).State != Same || p.Check(definition("b", i)).State != Same {
			t.Errorf("%d is not approved", i)
		}
		if p.CheckSeen(definition("a", 100+i)).State != Same || p.Check(definition("a", 100+i)).State != New {
			t.Errorf("%d was not seen", i)
		}
	}
	entries, err := store.List(t.Context(), sharedPrefix, "", 100)
	if err != nil || len(entries) != 24 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	p.Forget("a")
	changed := definition("b", 1)
	changed.Description = "Does more."
	if err := p.Approve(changed); err != nil {
		t.Fatal(err)
	}
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	p = load()
	if len(p.Approved("a")) != 0 || len(p.Approved("b")) != 8 || p.CheckSeen(definition("a", 101)).State != New || p.Check(changed).State != Same {
		t.Errorf("after a change: %d and %d", len(p.Approved("a")), len(p.Approved("b")))
	}
	before := map[string]kept.Version{}
	for _, e := range entries {
		before[e.Key] = e.Version
	}
	if entries, err = store.List(t.Context(), sharedPrefix, "", 100); err != nil || len(entries) != 8 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	written := 0
	for _, e := range entries {
		if before[e.Key] != e.Version {
			written++
		}
	}
	if written != 1 {
		t.Errorf("%d entries were written for one changed definition", written)
	}
}
