package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The proofs of one key do not displace those of others.
func TestProofsAreShared(t *testing.T) {
	var p proofs
	now, taken := time.Now(), 0
	for i := range maxAllProofs {
		ok, err := p.use(proofHash("ada", fmt.Sprint(i)), now)
		if err != nil {
			if !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
			break
		}
		if ok {
			taken++
		}
	}
	if taken != maxProofs {
		t.Errorf("one key has %d proofs, want %d", taken, maxProofs)
	}
	if ok, err := p.use(proofHash("eve", "1"), now.Add(170*time.Second)); !ok || err != nil {
		t.Errorf("the first proof of another key: %t, %v", ok, err)
	}
	if ok, _ := p.use(proofHash("ada", "7"), now.Add(170*time.Second)); ok {
		t.Error("a proof is used twice")
	}
}

// A flood of invalid tokens does not keep out clients with a token, from wherever it comes. A
// refused token is not sent to the authorization server again at once.
func TestIntrospectionIsShared(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_ = r.ParseForm()
		if strings.HasPrefix(r.PostForm.Get("token"), "any-text-") {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"active":%t,"sub":"ada","client_id":"c","aud":%q,"scope":"read"}`, strings.HasPrefix(r.PostForm.Get("token"), "ada"), resource)
	}))
	defer as.Close()
	v := Introspection(IntrospectionOptions{Issuer: as.URL, URL: as.URL, ClientID: "x", HTTP: as.Client(), Fresh: time.Nanosecond})
	g, err := New(Options{Resource: resource, Servers: []string{as.URL}, Verifier: v})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(address, token string) error {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = address + ":1"
		r.Header.Set("Authorization", "Bearer "+token)
		p, err := g.Principal(r)
		if err == nil && p.ClientID != "c" {
			t.Errorf("the principal is %+v", p)
		}
		return err
	}
	if err := ask("192.0.2.1", "ada known"); err == nil {
		t.Error("a token with a space is let in")
	}
	if err := ask("192.0.2.1", "ada-known"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 2_000 {
		all.Go(func() { _ = ask("192.0.2.1", fmt.Sprint("any-text-", i)) })
	}
	time.Sleep(200 * time.Millisecond)
	for _, c := range []struct{ name, address, token string }{
		{"a known token from the same address", "192.0.2.1", "ada-known"},
		{"a new token from another address", "192.0.2.2", "ada-new"},
	} {
		if err := ask(c.address, c.token); err != nil { // the waiting requests have no response before that
			t.Errorf("%s: %v", c.name, err)
		}
	}
	close(release)
	all.Wait()
	before := asked.Load()
	for range 100 {
		if err := ask("192.0.2.3", "one-text"); !errors.Is(err, ErrInactive) {
			t.Error(err)
		}
	}
	if n := asked.Load() - before; n != 1 {
		t.Errorf("of a token that was refused the authorization server was asked %d times", n)
	}
}
