package authserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/junction-mcp/junction/state/statetest"
)

// replica returns one of several replicas of a site with the users of the first one.
func replica(t *testing.T, store state.Shared, change ...func(*Options)) *site {
	g := replicas.New(store, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	s := newSite(t, append(change, func(o *Options) { o.Store, o.Replicas = g, g })...)
	for _, subject := range []string{SharedLogins, SharedUsers} {
		g.FollowChanges(subject, func(context.Context) error { s.Forget(); return nil })
	}
	return s
}

// The store is away for longer than signing keys are cached. The token is used all the time.
func TestTokensHoldWhileTheStoreIsAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &statetest.Away{Shared: state.NewMemory(0)}
		defer store.Close()
		here := replica(t, store)
		known := here.login("ann")
		for i := range 60 {
			store.Is.Store(i > 0)
			time.Sleep(5 * time.Second)
			if _, err := here.Verify(t.Context(), known.access, resource); err != nil {
				t.Fatalf("the store is away for %ds: %v", 5*i, err)
			}
		}
		if _, err := here.Verify(t.Context(), forgedKey(known.access), resource); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("a token with a key that another replica may have made: %v", err)
		}
	})
}

// forgedKey returns a token with a header that names another key.
func forgedKey(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","typ":"at+jwt","kid":"other"}`)) + "." + rest
}

// While the store is away, tokens of logins that the replica knows are accepted until they expire,
// others are not, and new logins get 503.
func TestTokensHoldWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &statetest.Away{Shared: state.NewMemory(0)}
		defer store.Close()
		here, there := replica(t, store), replica(t, store)
		known, unknown, ended := here.login("ann"), there.login("ann"), there.login("ben")
		time.Sleep(5 * time.Second)
		verify := func(when string, token string, want bool) {
			t.Helper()
			if _, err := here.Verify(t.Context(), token, resource); (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		verify("a login of here", known.access, true)
		verify("a login of there", ended.access, true)
		if n, err := Logout(t.Context(), store, "ben"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if err := there.options.Replicas.Changed(t.Context(), SharedLogins); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		verify("again", known.access, true)
		store.Is.Store(true)
		time.Sleep(5 * time.Second)
		verify("a known login while the store is away", known.access, true)
		verify("an unknown login while the store is away", unknown.access, false)
		verify("a login that ended before", ended.access, false)
		if status, got := here.refresh(known.client, known.refresh); status != http.StatusServiceUnavailable || got["error"] != "temporarily_unavailable" {
			t.Errorf("a refresh while the store is away: %d %v", status, got)
		}
		w := httptest.NewRecorder()
		here.ServeHTTP(w, httptest.NewRequest(http.MethodGet, issuer+loginPath, nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("the login page: %d %v", w.Code, w.Header())
		}
		time.Sleep(defaultTokenTime)
		verify("longer than the life of a token", known.access, false)
		store.Is.Store(false)
		time.Sleep(2 * time.Second)
		if status, got := here.refresh(known.client, known.refresh); status != http.StatusOK {
			t.Errorf("a refresh afterwards: %d %v", status, got)
		}
	})
}

// Failed logins and registrations count at all replicas together.
func TestAttemptsCountAtAllReplicas(t *testing.T) { synctest.Test(t, attemptsCountAtAllReplicas) }

func attemptsCountAtAllReplicas(t *testing.T) {
	store := state.NewMemory(0)
	defer store.Close()
	all := []*site{replica(t, store), replica(t, store), replica(t, store)}
	now, ctx := time.Now(), t.Context()
	one := attempt{"login of ann", 10}
	taken := 0
	for i := range 30 {
		if all[i%3].take(ctx, now, time.Minute, attempt{"other", 100}, one) {
			taken++
		}
	}
	if taken != 10 {
		t.Errorf("%d of 10 were counted", taken)
	}
	all[0].forget(ctx, time.Minute, one)
	if !all[1].take(ctx, now, time.Minute, one) || all[2].take(ctx, now, time.Minute, one) {
		t.Error("an attempt that succeeded counts")
	}
	time.Sleep(time.Minute)
	if now = time.Now(); !all[2].take(ctx, now, time.Minute, one) {
		t.Error("an attempt counts after its time")
	}
	for range 10 {
		all[0].take(ctx, now, time.Minute, attempt{"other", 100})
	}
	taken = 0
	for range 120 {
		if all[taken%3].take(ctx, now, time.Minute, attempt{"other", 100}) {
			taken++
		}
	}
	if taken != 90 {
		t.Errorf("%d attempts were left of 100 after 10 that counted", taken)
	}
}

// One address makes a bounded number of counts in the store, whatever names it tries at which replica.
func TestAnAddressMakesFewCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		defer store.Close()
		all := []*site{replica(t, store), replica(t, store), replica(t, store)}
		counts := func() int {
			t.Helper()
			entries, err := store.List(t.Context(), attemptPrefix, "", 100_000)
			if err != nil {
				t.Fatal(err)
			}
			return len(entries)
		}
		for i := range 3000 {
			r := httptest.NewRequest(http.MethodPost, issuer+loginPath, nil)
			r.RemoteAddr = "192.0.2.1:1"
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // it does not wait for its turn
			if _, err := all[i%3].check(r.WithContext(ctx), fmt.Sprint("name", i), "wrong"); err == nil {
				t.Fatal("a wrong password is accepted")
			}
			cancel()
		}
		if n := counts(); n > 2*manyTimes*defaultFailedLogins+1 {
			t.Errorf("%d counts", n)
		}
		time.Sleep(attemptTime)
		if n := counts(); n > 0 {
			t.Errorf("%d counts are left", n)
		}
	})
}
