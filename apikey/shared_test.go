package apikey

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/junction-mcp/junction/state/statetest"
)

// A key that one replica makes or revokes is accepted or refused by another one within two seconds.
// While the store is away, known keys are accepted for five minutes, and then get 503.
func TestReplicasShareKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &statetest.Away{Shared: state.NewMemory(0)}
		defer store.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer func() { cancel(); running.Wait() }()
		g := replicas.New(store, slog.New(slog.DiscardHandler))
		here, err := OpenShared(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { g.Run(ctx) })
		there, err := OpenShared(t.Context(), replicas.New(store, slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		status := func(key string) int {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header.Set("X-API-Key", key)
			_, err := here.Principal(r)
			if err == nil {
				return http.StatusOK
			}
			w := httptest.NewRecorder()
			if errors.Is(err, ErrUnavailable) != store.Is.Load() {
				t.Errorf("error %v", err)
			}
			err.(http.Handler).ServeHTTP(w, r)
			if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			return w.Code
		}
		expect := func(when, key string, want int) {
			t.Helper()
			if got := status(key); got != want {
				t.Errorf("%s: status %d, want %d", when, got, want)
			}
		}
		first, _, err := there.Create(t.Context(), "ann", nil, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := there.Create(t.Context(), "ben", nil, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		expect("a new key", first, http.StatusOK)
		if _, err := there.Revoke(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		expect("a revoked key", first, http.StatusUnauthorized)
		store.Is.Store(true)
		time.Sleep(4 * time.Minute)
		expect("the store is away for 4 minutes", second, http.StatusOK)
		time.Sleep(2 * time.Minute)
		expect("the store is away for 6 minutes", second, http.StatusServiceUnavailable)
		store.Is.Store(false)
		time.Sleep(2 * time.Second)
		expect("the store is back", second, http.StatusOK)
		expect("the store is back", first, http.StatusUnauthorized)
	})
}

// Keys that two replicas make at the same time are both stored.
func TestNoSharedKeyIsLost(t *testing.T) {
	store := state.NewMemory(0)
	defer store.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			k, err := OpenShared(t.Context(), replicas.New(store, slog.New(slog.DiscardHandler)))
			if err == nil {
				_, _, err = k.Create(t.Context(), "ann", nil, time.Time{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	k, err := OpenShared(t.Context(), replicas.New(store, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := k.All(); err != nil || len(kept) != 8 {
		t.Errorf("%d keys, %v", len(kept), err)
	}
	if revoked, err := k.Revoke(t.Context(), "ann"); err != nil || len(revoked) != 8 {
		t.Errorf("%d revoked, %v", len(revoked), err)
	}
}
