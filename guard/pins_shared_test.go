package guard

import (
	"context"
	"errors"
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

// A heldStore holds writes up.
type heldStore struct {
	kept.Shared
	writes, goOn chan struct{}
	fails        error
}

func (h *heldStore) CompareAndSwap(ctx context.Context, key string, old kept.Version, value []byte, w kept.Write) (kept.Version, error) {
	h.writes <- struct{}{}
	<-h.goOn
	if h.fails != nil {
		return "", h.fails
	}
	return h.Shared.CompareAndSwap(ctx, key, old, value, w)
}

// While pins are saved, they can be checked and changed. The changes are saved next, also if the first
// ones could not be saved.
func TestPinsAreUsedWhileTheyAreSaved(t *testing.T) {
	for _, fails := range []error{nil, kept.ErrUnavailable} {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			memory := kept.NewMemory(0)
			defer memory.Close()
			store := &heldStore{memory, make(chan struct{}), make(chan struct{}), fails}
			p, err := LoadShared(t.Context(), replicas.New(store, slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			one := func(name string) Definition { return Definition{Kind: Tool, Server: "s", Name: name} }
			gone := Definition{Kind: Tool, Server: "gone", Name: "a"}
			if err := p.Approve(one("a"), gone); err != nil {
				t.Fatal(err)
			}
			saved := make(chan error, 1)
			go func() { saved <- p.Save() }()
			<-store.writes
			p.Forget("gone")
			if err := p.Approve(one("b")); err != nil || p.Check(one("a")).State != Same || p.Check(one("b")).State != Same {
				t.Errorf("while they are saved: %v", err)
			}
			go func() {
				for range store.writes {
				}
			}()
			close(store.goOn)
			if err := <-saved; !errors.Is(err, fails) {
				t.Errorf("saved: %v", err)
			}
			store.fails = nil
			if err := p.Save(); err != nil {
				t.Fatal(err)
			}
			close(store.writes)
			there, err := LoadShared(t.Context(), replicas.New(memory, slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			for _, pins := range []*Pins{p, there} {
				if pins.Check(one("a")).State != Same || pins.Check(one("b")).State != Same || pins.Check(gone).State != New {
					t.Error("changes are lost")
				}
			}
		})
	}
}
