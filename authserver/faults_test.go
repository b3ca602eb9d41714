package authserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/state"
)

// A brokenStore cannot be read for a while.
type brokenStore struct {
	state.Store
	broken atomic.Bool
}

func (b *brokenStore) Get(ctx context.Context, key string) (state.Entry, error) {
	if b.broken.Load() {
		return state.Entry{}, errors.New("the disk is busy")
	}
	return b.Store.Get(ctx, key)
}

// Clients discard their registration and logins at invalid_client. It is for unknown clients, not
// for a store that cannot be read at the moment.
func TestAFaultOfTheStoreDoesNotSayThatTheClientIsNotKnown(t *testing.T) {
	store := new(brokenStore)
	s := newSite(t, func(o *Options) { store.Store, o.Store = o.Store, store })
	l := s.login("ann")
	store.broken.Store(true)
	status, got := s.refresh(l.client, l.refresh)
	if got["error"] == "invalid_client" || status < http.StatusInternalServerError {
		t.Errorf("a refresh while the store cannot be read: %d %v; expected 5xx server_error", status, got)
	}
	if said, _ := got["error_description"].(string); strings.Contains(said, "disk") {
		t.Errorf("everybody learns what is wrong with the store: %q", said)
	}
}

// The same holds for a client whose document cannot be read at the moment.
func TestAFaultOfAClientsHostDoesNotEndItsLogins(t *testing.T) {
	const id, to = "https://client.example/oauth/client.json", "https://client.example/callback"
	s := newSite(t)
	s.web[id] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"client_id":"` + id + `","client_name":"c","redirect_uris":["` + to + `"]}`))
	}
	status, got := s.redeem(id, to, s.code(s.browser("ann"), ask(id, to), to))
	l := s.tokensIn(id, status, got)
	s.documents.by = nil // ten minutes later
	s.web[id] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	if status, got = s.refresh(id, l.refresh); got["error"] == "invalid_client" {
		t.Errorf("a refresh while the client's host answers 502: %d %v; a refresh token that holds does not need its document", status, got)
	}
}
