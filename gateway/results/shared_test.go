package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

var sharedKey = []byte(strings.Repeat("k", 32))

// A flakyStore counts operations, and can be away. A write that it loses is done, and then reported
// as uncertain.
type flakyStore struct {
	state.KV
	away atomic.Bool
	lose atomic.Int64
	ops  atomic.Int64
}

func (f *flakyStore) Get(ctx context.Context, key string) (state.Entry, error) {
	f.ops.Add(1)
	if f.away.Load() {
		return state.Entry{}, state.ErrUnavailable
	}
	return f.KV.Get(ctx, key)
}

func (f *flakyStore) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	f.ops.Add(1)
	if f.away.Load() {
		return "", state.ErrUnavailable
	}
	return f.KV.Put(ctx, key, value, w)
}

func (f *flakyStore) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	f.ops.Add(1)
	if f.away.Load() {
		return "", state.ErrUnavailable
	}
	v, err := f.KV.CompareAndSwap(ctx, key, old, value, w)
	if err == nil && f.lose.Add(-1) >= 0 {
		return "", fmt.Errorf("%w: %w", state.ErrUnavailable, state.ErrUncertain)
	}
	return v, err
}

// sharers returns stores of replicas that share kv.
func sharers(t *testing.T, n int, kv state.KV, log *slog.Logger) (all []*Store) {
	t.Helper()
	for range n {
		s, err := NewSharedStore(0, kv, sharedKey, log)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// read returns a part of a text, or "" if it is not there.
func (s *Store) read(t *testing.T, id string, who *mcp.Principal, from, to int) string {
	t.Helper()
	kept, err := s.get(t.Context(), id, "s", who)
	if errors.Is(err, mcp.ErrNotOwner) {
		return ""
	}
	var text string
	if err == nil {
		text, err = kept.whole(t.Context(), from, min(to, kept.size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEachReplicaReadsALongResult reads texts of several parts at another replica, which has them in
// no other way than from the store.
func TestEachReplicaReadsALongResult(t *testing.T) {
	for _, size := range []int{1, 1000, partBytes - 1, partBytes, partBytes + 1, 2*partBytes + 5, 3 * partBytes} {
		memory := state.NewMemory(0)
		all := sharers(t, 2, memory, slog.New(slog.DiscardHandler))
		text := strings.Repeat("größer", size/8+1)
		ada := &mcp.Principal{Issuer: "i", Subject: "ada", ClientID: "c"}
		id := all[0].add(t.Context(), text, "text/plain", "s", "", mcp.Ownership{Owner: ada})
		if got := all[1].read(t, id, ada, 0, len(text)); got != text {
			t.Errorf("%d bytes: got %d others", len(text), len(got))
		}
		var pages []string
		for at := 0; at < len(text); at += 100_003 {
			page, here := all[1].read(t, id, ada, at, at+100_003), all[0].read(t, id, ada, at, at+100_003)
			if page != here {
				t.Errorf("%d bytes: a page differs from that of the replica that made it", len(text))
			}
			pages = append(pages, page)
		}
		if strings.Join(pages, "") != text {
			t.Errorf("%d bytes: the pages are not the text", len(text))
		}
		entries, err := memory.List(t.Context(), "results", "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(string(e.Value), "größer") || strings.Contains(e.Key, id) || len(e.Value) > 2*partBytes {
				t.Errorf("%s has a value of %d bytes in clear text, or too many", e.Key, len(e.Value))
			}
		}
	}
}

// TestOtherCallersReadNoSharedResult asks another replica for a result with other credentials than
// those of its caller.
func TestOtherCallersReadNoSharedResult(t *testing.T) {
	all := sharers(t, 2, state.NewMemory(0), slog.New(slog.DiscardHandler))
	who := func(user, client string, scopes ...string) *mcp.Principal {
		return &mcp.Principal{Issuer: "i", Subject: user, ClientID: client, Scopes: scopes}
	}
	owned := all[0].add(t.Context(), "text", "k", "s", "", mcp.Ownership{Owner: who("ada", "c", "a"), Part: "p"})
	anonymous := all[0].add(t.Context(), "text", "k", "s", "", mcp.Ownership{})
	for _, test := range []struct {
		id, server, part string
		who              *mcp.Principal
		want             error
	}{
		{owned, "s", "p", who("ada", "c", "a", "b"), nil},
		{owned, "s", "p", who("ada", "c"), &mcp.ScopeError{Needs: []string{"a"}}},
		{owned, "s", "p", who("ada", "d", "a"), mcp.ErrNotOwner},
		{owned, "s", "p", who("eve", "c", "a"), mcp.ErrNotOwner},
		{owned, "s", "p", nil, mcp.ErrNotOwner},
		{owned, "s", "q", who("ada", "c", "a"), mcp.ErrNotOwner},
		{owned, "s2", "p", who("ada", "c", "a"), mcp.ErrNotOwner},
		{owned + "x", "s", "p", who("ada", "c", "a"), mcp.ErrNotOwner},
		{anonymous, "s", "", nil, nil},
		{anonymous, "s", "", who("ada", "c", "a"), mcp.ErrNotOwner},
	} {
		for i, s := range all {
			_, err := s.get(granted.WithPart(t.Context(), test.part), test.id, test.server, test.who)
			if fmt.Sprint(err) != fmt.Sprint(test.want) {
				t.Errorf("replica %d: %+v: %v", i, test, err)
			}
		}
	}
}

// TestSharedResultsAreShared has one user make results at all replicas at once, until another one's
// first result would have to go.
func TestSharedResultsAreShared(t *testing.T) {
	memory := state.NewMemory(0)
	all := sharers(t, 3, memory, slog.New(slog.DiscardHandler))
	ada, eve := &mcp.Principal{Issuer: "i", Subject: "ada"}, &mcp.Principal{Issuer: "i", Subject: "eve"}
	hers := all[0].add(t.Context(), "hers", "k", "s", "", mcp.Ownership{Owner: ada})
	const most = maxSharedBytes / minSharedBytes
	var running sync.WaitGroup
	ids := make([][]string, len(all))
	for i, s := range all {
		running.Go(func() {
			for range most/3 + 100 {
				ids[i] = append(ids[i], s.add(t.Context(), "eve's", "k", "s", "", mcp.Ownership{Owner: eve}))
			}
		})
	}
	running.Wait()
	fresh := sharers(t, 1, memory, nil)[0]
	if fresh.read(t, hers, ada, 0, 4) != "hers" {
		t.Error("a user with one result lost it")
	}
	kept := 0
	for _, of := range ids {
		for i, id := range of {
			if fresh.read(t, id, eve, 0, 5) != "" {
				kept++
			} else if i == len(of)-1 {
				t.Error("the newest result of a replica is gone")
			}
		}
	}
	if kept < most-20 || kept >= most {
		t.Errorf("%d results of the other user are kept, want about %d", kept, most-1)
	}
	if all, _ := memory.List(t.Context(), "results:", "", 3*most); len(all) > most {
		t.Errorf("the store has %d values", len(all))
	}
}

// TestResultsWithoutTheirStore makes results while the store is away, and after a write of which
// nobody knows whether it was done.
func TestResultsWithoutTheirStore(t *testing.T) {
	flaky := &flakyStore{KV: state.NewMemory(0)}
	var logged strings.Builder
	all := sharers(t, 2, flaky, slog.New(slog.NewTextHandler(&logged, nil)))
	flaky.lose.Store(1)
	before := all[0].add(t.Context(), "before", "k", "s", "", mcp.Ownership{})
	flaky.away.Store(true)
	var meanwhile []string
	for range 3 {
		meanwhile = append(meanwhile, all[0].add(t.Context(), "meanwhile", "k", "s", "", mcp.Ownership{}))
	}
	if n := strings.Count(logged.String(), "kept at this replica alone"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
	if all[0].read(t, before, nil, 0, 6) != "before" || all[0].read(t, meanwhile[0], nil, 0, 9) != "meanwhile" {
		t.Error("the replica that made results does not have them")
	}
	if _, err := all[1].get(t.Context(), before, "s", nil); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("another replica: %v", err)
	}
	flaky.away.Store(false)
	after := all[0].add(t.Context(), "after", "k", "s", "", mcp.Ownership{})
	for id, want := range map[string]string{before: "before", meanwhile[0]: "", after: "after"} {
		if got := all[1].read(t, id, nil, 0, 99); got != want {
			t.Errorf("another replica reads %q, want %q", got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flaky.away.Store(true)
	all[1].add(ctx, "withdrawn", "k", "s", "", mcp.Ownership{})
	if n := strings.Count(logged.String(), "kept at this replica alone"); n != 1 {
		t.Errorf("a call that was withdrawn is logged")
	}
}

// TestSharedResultsExpire reads a result after its time, and makes one after that.
func TestSharedResultsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := state.NewMemory(0)
		all := sharers(t, 2, memory, nil)
		id := all[0].add(t.Context(), "text", "k", "s", "", mcp.Ownership{})
		time.Sleep(keptTime + time.Second)
		if all[1].read(t, id, nil, 0, 4) != "" || all[0].read(t, id, nil, 0, 4) != "" {
			t.Error("it is still there")
		}
		all[1].add(t.Context(), "text", "k", "s", "", mcp.Ownership{})
		if index := all[1].shared.index; len(index) != 1 {
			t.Errorf("the index has %d texts", len(index))
		}
	})
}

// TestAShortResultNeedsNoStore counts operations of calls with short and long results.
func TestAShortResultNeedsNoStore(t *testing.T) {
	flaky := &flakyStore{KV: state.NewMemory(0)}
	store := sharers(t, 1, flaky, nil)[0]
	server := mcp.NewServer("s", "1")
	mcp.AddTool(server, "text", func(_ context.Context, in struct {
		Size int `json:"size"`
	}) (string, error) {
		return strings.Repeat("x", in.Size), nil
	})
	c := mcp.NewClient(Middleware(Options{Server: "s", Max: 1000, Store: store})(server))
	for _, test := range []struct{ size, ops int }{{10, 0}, {900, 0}, {5000, 3}, {5000, 2}, {10, 0}} {
		flaky.ops.Store(0)
		if _, err := c.CallTool(share.With(t.Context(), "ada"), "text", map[string]any{"size": test.size}); err != nil {
			t.Fatal(err)
		}
		if got := flaky.ops.Load(); got != int64(test.ops) {
			t.Errorf("%d bytes: %d operations, want %d", test.size, got, test.ops)
		}
	}
}
