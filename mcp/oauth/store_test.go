package oauth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/sqlite"
)

// sharing returns a client that shares its store's file with others, like one of another process.
func (s *site) sharing(path string, key byte, now func() time.Time) *Client {
	c := New(Options{Visit: s.visit, Store: OpenStore(func(ctx context.Context) (state.Store, []byte, error) {
		in, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		s.t.Cleanup(func() { in.Close() })
		return in, bytes.Repeat([]byte{key}, 32), nil
	})})
	if now != nil {
		c.now = now
	}
	return c
}

// The site revokes everything when a refresh token is used twice, as good servers do. One refresh
// too many would show as a second login.
func TestProcessesThatShareALoginNeverBurnIt(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "state.db")
	var mu sync.Mutex
	began, now := time.Now(), time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	clients := []*Client{s.sharing(path, 1, clock), s.sharing(path, 1, clock), s.sharing(path, 1, clock)}
	everybody := func() {
		t.Helper()
		var all sync.WaitGroup
		for i := range 9 {
			all.Go(func() {
				if status, err := s.get(clients[i%len(clients)], "/mcp"); status != http.StatusOK || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		all.Wait()
	}
	everybody()
	const expiries = 40
	for range expiries {
		mu.Lock()
		now = now.Add(time.Hour - ahead)
		mu.Unlock()
		everybody()
	}
	if s.visits != 1 || s.refreshes != expiries || s.registers != 1 {
		t.Errorf("%d visits, %d refreshes, %d registrations in %v", s.visits, s.refreshes, s.registers, now.Sub(began))
	}
	late := s.sharing(path, 1, clock)
	if status, err := s.get(late, "/mcp"); status != http.StatusOK || err != nil || s.visits != 1 {
		t.Errorf("who comes later: %d, %v, %d visits", status, err, s.visits)
	}
}

func TestLoginsReachEarlierWaiters(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "state.db")
	waiting := s.sharing(path, 1, nil)
	waiting.options.Visit = nil
	if _, err := s.get(waiting, "/mcp"); !errors.Is(err, ErrLogin) {
		t.Fatal(err)
	}
	other := s.sharing(path, 1, nil)
	l, err := other.Login(t.Context(), s.URL+"/mcp", nil)
	if err != nil || l.Issuer != s.URL || l.Resource != s.URL+"/mcp" || l.ClientID != "client" || !l.Renews || strings.Join(l.Scopes, " ") != "read" {
		t.Errorf("%+v, %v", l, err)
	}
	if status, err := s.get(waiting, "/mcp"); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	logins, err := waiting.Logins(t.Context())
	if err != nil || len(logins) != 1 || logins[0].Server != s.URL+"/mcp" {
		t.Errorf("%+v, %v", logins, err)
	}
	refresh := s.refresh
	if l, revoked, err := other.Logout(t.Context(), s.URL+"/mcp"); err != nil || !revoked || l.Issuer != s.URL || len(s.revoked) != 1 || s.revoked[0] != refresh {
		t.Errorf("%+v, %v, %v; revoked %q, want %q", l, revoked, err, s.revoked, refresh)
	}
	if _, err := s.get(waiting, "/mcp"); !errors.Is(err, ErrLogin) {
		t.Errorf("after the logout: %v", err)
	}
	if _, err := waiting.LoginOf(t.Context(), s.URL+"/mcp"); !errors.Is(err, ErrNoLogin) {
		t.Error(err)
	}
	if _, _, err := other.Logout(t.Context(), s.URL+"/mcp"); !errors.Is(err, ErrNoLogin) {
		t.Error(err)
	}
}

func TestALoginAgainKeepsTheRegistration(t *testing.T) {
	s := newSite(t)
	c := s.client(nil)
	for range 3 {
		if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.visits != 3 || s.registers != 1 {
		t.Errorf("%d visits, %d registrations", s.visits, s.registers)
	}
	s.back = func(q url.Values) { q["error"] = []string{"unauthorized_client"} }
	if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err == nil {
		t.Error("logged in")
	}
	s.back = nil
	if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err != nil || s.registers != 2 {
		t.Errorf("after a client that is not known any more: %v, %d registrations", err, s.registers)
	}
}

func TestStoredValuesAreSealed(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "state.db")
	if _, err := s.sharing(path, 1, nil).Login(t.Context(), s.URL+"/mcp", nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		for _, secret := range []string{"access", "refresh", "127.0.0.1"} {
			if bytes.Contains(data, []byte(secret)) || err != nil {
				t.Errorf("%s holds %q (%v)", file, secret, err)
			}
		}
	}
	other := s.sharing(path, 2, nil)
	if _, err := other.LoginOf(t.Context(), s.URL+"/mcp"); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	if _, err := s.get(other, "/mcp"); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	if _, err := other.Login(t.Context(), s.URL+"/mcp", nil); err != nil {
		t.Errorf("a login replaces what another key sealed: %v", err)
	}
	if status, err := s.get(other, "/mcp"); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

func TestAStoreThatFailsCostsNoRequest(t *testing.T) {
	s := newSite(t)
	in := &broken{Memory: state.NewMemory(0)}
	now := time.Now()
	c := New(Options{Visit: s.visit, Store: OpenStore(func(context.Context) (state.Store, []byte, error) { return in, nil, nil })})
	c.now = func() time.Time { return now }
	if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	in.full = true
	for range 3 {
		now = now.Add(time.Hour)
		if status, err := s.get(c, "/mcp"); status != http.StatusOK || err != nil || s.visits != 1 {
			t.Errorf("%d, %v, %d visits", status, err, s.visits)
		}
	}
	if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); !errors.Is(err, state.ErrFull) {
		t.Errorf("a login that is not stored: %v", err)
	}
}

// broken is a full store.
type broken struct {
	*state.Memory
	full bool
}

func (b *broken) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	if b.full {
		return "", state.ErrFull
	}
	return b.Memory.Put(ctx, key, value, w)
}

// A site that forgot its clients only shows that on its page, so the user gives up.
func TestALoginThatWasGivenUpRegistersAnew(t *testing.T) {
	s := newSite(t)
	c := s.sharing(filepath.Join(t.TempDir(), "state.db"), 1, nil)
	if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	visit := c.options.Visit
	c.options.Visit = func(context.Context, string) (*Visit, error) {
		return &Visit{Redirect: "http://127.0.0.1:1/callback", Go: func(ctx context.Context, _ string) (string, error) {
			giveUp()
			return "", ctx.Err()
		}}, nil
	}
	if _, err := c.Login(ctx, s.URL+"/mcp", nil); err == nil {
		t.Fatal("it logged in")
	}
	c.options.Visit = visit
	if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err != nil || s.registers != 2 {
		t.Errorf("%v, %d registrations", err, s.registers)
	}
}
