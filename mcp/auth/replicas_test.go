package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two Guards of one resource accept a proof once, and the nonces of each other. If they cannot know
// whether a proof was used, they refuse it with 503.
func TestReplicasAcceptAProofOnce(t *testing.T) {
	g := newGiver(t)
	var mu sync.Mutex
	var fault error
	used := map[string]bool{}
	o := Options{Proofs: ProofsWithNonce, Secret: []byte(strings.Repeat("s", 32)), Once: func(_ context.Context, proof string, keep time.Duration) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		isNew := !used[proof]
		used[proof] = true
		return isNew && keep > time.Minute, fault
	}}
	here, there := g.guard(o), g.guard(o)
	ada := holder{t, newKey(t)}
	token := g.token(map[string]any{"cnf": map[string]any{"jkt": ada.thumbprint()}})
	send := func(to *Guard, proof string) (int, string) {
		w, _ := ask(to, http.Header{"Authorization": {"DPoP " + token}, "Dpop": {proof}})
		return w.Code, w.Header().Get("DPoP-Nonce")
	}
	_, nonce := send(here, ada.proof(token, nil))
	proof := ada.proof(token, map[string]any{"nonce": nonce})
	if status, _ := send(there, proof); status != http.StatusOK {
		t.Errorf("with a nonce of the other one: %d", status)
	}
	if status, _ := send(here, proof); status != http.StatusUnauthorized {
		t.Errorf("a proof that the other one accepted: %d", status)
	}
	fault = errors.New("the store is away")
	if status, _ := send(here, ada.proof(token, map[string]any{"nonce": nonce})); status != http.StatusServiceUnavailable {
		t.Errorf("a proof that cannot be checked: %d", status)
	}
}

// Forget drops tokens that were checked, and those that are being checked.
func TestForgottenTokensAreCheckedAgain(t *testing.T) {
	var c cache
	now := time.Now()
	hash := hashOf("token")
	_, turn := c.get(hash, now)
	c.drop()
	c.put(hash, &Token{Expires: now.Add(time.Hour)}, now, turn)
	if got, _ := c.get(hash, now); got != nil {
		t.Error("a token whose check began before is remembered")
	}
	_, turn = c.get(hash, now)
	c.put(hash, &Token{Expires: now.Add(time.Hour)}, now, turn)
	if got, _ := c.get(hash, now); got == nil {
		t.Error("a token is not remembered")
	}
	c.drop()
	if got, _ := c.get(hash, now); got != nil {
		t.Error("a token is remembered")
	}
}
