package authserver

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp/auth"
)

func TestReusedCodesRevokeTheirTokens(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	code := s.code(s.browser("ann"), ask(id, callback), callback)
	status, got := s.redeem(id, callback, code)
	l := s.tokensIn(id, status, got)
	status, got = s.redeem(id, callback, code)
	isRefused(t, "the code again", status, got, http.StatusBadRequest, "invalid_grant", "used before")
	status, got = s.refresh(id, l.refresh)
	isRefused(t, "its refresh token", status, got, http.StatusBadRequest, "invalid_grant", "revoked")
	if err := lets(s.guard(resource), l.access); !errors.Is(err, auth.ErrInactive) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("its access token: %v", err)
	}
}

// The first of many requests with a code gets tokens, which are revoked when another one comes.
func TestOneOfManyRedeemsACode(t *testing.T) {
	s := newSite(t)
	id := s.register("A client", callback)
	code := s.code(s.browser("ann"), ask(id, callback), callback)
	var mu sync.Mutex
	var wait sync.WaitGroup
	var got []in
	for range 8 {
		wait.Go(func() {
			status, answer := s.redeem(id, callback, code)
			mu.Lock()
			defer mu.Unlock()
			if status == http.StatusOK {
				got = append(got, s.tokensIn(id, status, answer))
			}
		})
	}
	wait.Wait()
	if len(got) > 1 {
		t.Errorf("%d have tokens", len(got))
	}
	for _, l := range got {
		if err := lets(s.guard(resource), l.access); err == nil {
			t.Error("its token holds")
		}
	}
}

func TestACodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.register("A client", callback)
		code := s.code(s.browser("ann"), ask(id, callback), callback)
		time.Sleep(codeTime + time.Second)
		status, got := s.redeem(id, callback, code)
		isRefused(t, "late", status, got, http.StatusBadRequest, "invalid_grant", "expired")

		ann := s.browser("ann")
		begun, err := ann.Get(t.Context(), ask(id, callback))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(requestTime)
		if p, err := ann.Get(t.Context(), begun.Next()); err != nil || p.Status != http.StatusBadRequest {
			t.Errorf("a login that was begun long ago: %d, %v", p.Status, err)
		}
	})
}

func TestARefreshTokenIsUsedOnceButWhereItsResponseWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		l := s.login("ann")
		first := l
		for range 3 {
			time.Sleep(time.Hour)
			status, got := s.refresh(l.client, l.refresh)
			l = s.tokensIn(l.client, status, got)
		}
		// The response was lost: the client repeats its request.
		time.Sleep(time.Second)
		status, got := s.refresh(l.client, l.refresh)
		lost := s.tokensIn(l.client, status, got)
		time.Sleep(repeatTime - time.Second)
		status, got = s.refresh(l.client, l.refresh)
		again := s.tokensIn(l.client, status, got)
		for _, token := range []string{lost.access, again.access} {
			if err := lets(s.guard(resource), token); err != nil {
				t.Error(err)
			}
		}
		// Both have the same token, which is used once.
		time.Sleep(time.Second)
		status, got = s.refresh(l.client, lost.refresh)
		l = s.tokensIn(l.client, status, got)
		time.Sleep(repeatTime)
		status, got = s.refresh(l.client, again.refresh)
		isRefused(t, "what was used before", status, got, http.StatusBadRequest, "invalid_grant", "all tokens of the login are revoked")
		for _, token := range []string{l.refresh, first.refresh} {
			status, got = s.refresh(l.client, token)
			isRefused(t, "after that", status, got, http.StatusBadRequest, "invalid_grant", "revoked")
		}
	})
}

// A token older than the previous one is a thief's, however soon it comes.
func TestARefreshTokenFromBeforeTheLastRevokesAtOnce(t *testing.T) {
	s := newSite(t)
	l := s.login("ann")
	status, got := s.refresh(l.client, l.refresh)
	second := s.tokensIn(l.client, status, got)
	status, got = s.refresh(l.client, second.refresh)
	third := s.tokensIn(l.client, status, got)
	status, got = s.refresh(l.client, l.refresh)
	isRefused(t, "the first one", status, got, http.StatusBadRequest, "invalid_grant", "revoked")
	status, got = s.refresh(l.client, third.refresh)
	isRefused(t, "the third one", status, got, http.StatusBadRequest, "invalid_grant", "revoked")
}

func TestRefreshTokensAreForTheirClientResourceAndScopes(t *testing.T) {
	s := newSite(t)
	l := s.login("ann", "scope", "read write")
	foreign := s.register("Another", callback)
	status, got := s.refresh(foreign, l.refresh)
	isRefused(t, "another client", status, got, http.StatusBadRequest, "invalid_grant", "another client")
	status, got = s.refresh(l.client, l.refresh, "resource", other)
	isRefused(t, "another resource", status, got, http.StatusBadRequest, "invalid_target", "the login is only for")
	status, got = s.refresh(l.client, l.refresh, "scope", "read admin")
	isRefused(t, "more scopes", status, got, http.StatusBadRequest, "invalid_scope", "the login has")
	status, got = s.refresh(l.client, l.refresh+"x")
	isRefused(t, "a changed one", status, got, http.StatusBadRequest, "invalid_grant", "is not valid")
	status, got = s.refresh(l.client, l.access)
	isRefused(t, "an access token", status, got, http.StatusBadRequest, "invalid_grant", "is not valid")
	status, got = s.refresh(l.client, l.refresh, "scope", "read", "resource", resource)
	if few := s.tokensIn(l.client, status, got); few.scope != "read" {
		t.Errorf("fewer scopes: %q", few.scope)
	}
}

func TestAClientRevokesItsTokens(t *testing.T) {
	s := newSite(t)
	foreign := s.register("Another", callback)
	for name, token := range map[string]func(in) string{"refresh": func(l in) string { return l.refresh }, "access": func(l in) string { return l.access }} {
		l := s.login("ann")
		for _, who := range []string{foreign, l.client} {
			status, got := s.post(revokePath, url.Values{"client_id": {who}, "token": {token(l)}})
			if status != http.StatusOK {
				t.Errorf("%s: %d %v", name, status, got)
			}
			err := lets(s.guard(resource), l.access)
			if gone := who == l.client; gone != (err != nil) {
				t.Errorf("%s, revoked by its client %v: %v", name, gone, err)
			}
		}
		status, got := s.refresh(l.client, l.refresh)
		isRefused(t, name, status, got, http.StatusBadRequest, "invalid_grant", "revoked")
	}
	status, _ := s.post(revokePath, url.Values{"client_id": {foreign}, "token": {"no token"}})
	if status != http.StatusOK {
		t.Errorf("no token: %d", status)
	}
}

func TestLoginsEndWithTheUserAndThePassword(t *testing.T) {
	for name, change := range map[string]func(*Users) error{
		"removed":          func(u *Users) error { return u.Remove(t.Context(), "ann") },
		"another password": func(u *Users) error { return u.SetPassword(t.Context(), "ann", "another password") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t)
			l, ann := s.login("ann"), s.browser("ann")
			id := s.register("A client", callback)
			s.code(ann, ask(id, callback), callback)
			g := s.guard(resource)
			if err := lets(g, l.access); err != nil {
				t.Fatal(err)
			}
			if err := change(s.users); err != nil {
				t.Fatal(err)
			}
			time.Sleep(freshTime + time.Second)
			if err := lets(g, l.access); err == nil || !strings.Contains(err.Error(), "the user was removed or has a new password") {
				t.Errorf("%s: %v", name, err)
			}
			status, got := s.refresh(l.client, l.refresh)
			isRefused(t, name, status, got, http.StatusBadRequest, "invalid_grant", "was removed")
			// The browser must log in again, too.
			if p, err := ann.Show(t.Context(), ask(id, callback)); err != nil || p.Status != http.StatusUnauthorized {
				t.Errorf("%s: the browser: %d %s, %v", name, p.Status, p.Text, err)
			}
		})
	}
}

func TestUnusedLoginsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		l := s.login("ann")
		time.Sleep(refreshTime - time.Hour)
		status, got := s.refresh(l.client, l.refresh)
		l = s.tokensIn(l.client, status, got)
		time.Sleep(refreshTime + time.Hour)
		status, got = s.refresh(l.client, l.refresh)
		isRefused(t, "late", status, got, http.StatusBadRequest, "invalid_grant", "has ended")
	})
}
