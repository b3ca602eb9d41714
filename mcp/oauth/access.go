package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"sync"
)

// An access is a client's authorization at one server.
type access struct {
	server *url.URL
	turn   chan struct{} // capacity 1; its holder may change the fields below

	mu     sync.Mutex
	login  *login // nil without a login
	looked bool   // set after the store was read
	nonce  string // the nonce that the server requires in the next proof
	tries  int    // number of finished attempts to get a token
	failed error  // error of the last attempt; nil if it succeeded
	with   string // input of the last attempt, if attempts differ
}

// A login is the permission of an authorization server for the client to use a resource. It is
// immutable once it is shared.
type login struct {
	Server   string       `json:"server"`   // the server that it was obtained for
	Resource string       `json:"resource"` // empty for an identity; see isIdentity
	Issuer   *issuer      `json:"issuer"`
	Client   Registration `json:"client"`
	Token    accessToken  `json:"token"`
	Proof    *proofKey    `json:"proof,omitempty"` // key for proofs of possession of the token; nil if no proof is sent

	guessed bool // set if the server named no authorization server
}

// isIdentity reports whether the login is the user's login at their identity provider, and not one
// for a server.
func (l *login) isIdentity() bool { return l.Resource == "" }

// form sets the resource in the parameters of a token request, and returns them.
func (l *login) form(form url.Values) url.Values {
	if l.Resource != "" {
		form.Set("resource", l.Resource)
	}
	return form
}

// covers reports whether the login has all scopes.
func (l *login) covers(scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(l.Token.Scopes, s) })
}

// isOther reports whether the login has another token than the refused one, and not an older one.
// It returns false for a nil login.
func (l *login) isOther(refused *login) bool {
	return l != nil && (refused == nil || l.Token.Access != refused.Token.Access && !l.Token.At.Before(refused.Token.At))
}

// mark returns a text that identifies a login's token for another process without revealing it.
func (l *login) mark() string {
	sum := sha256.Sum256([]byte(l.Token.Access))
	return hex.EncodeToString(sum[:16])
}

func (a *access) current() (l *login, looked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.login, a.looked
}

func (a *access) set(l *login) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login, a.looked = l, true
}

// lock waits for the turn to change the access. If an attempt with the same input failed in the
// meantime, it also returns the error of that attempt, as the user must not be sent to a page
// again. The input with is empty if all attempts are alike.
func (a *access) lock(ctx context.Context, with string) (unlock func(), err error) {
	tries, _ := a.tried(with)
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if now, failed := a.tried(with); now != tries && failed != nil {
		<-a.turn
		return nil, failed
	}
	return func() { <-a.turn }, nil
}

func (a *access) tried(with string) (tries int, failed error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.with != with {
		return a.tries, nil
	}
	return a.tries, a.failed
}

// ended records the end of an attempt to get a token.
func (a *access) ended(with string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries, a.with, a.failed = a.tries+1, with, err
}

// proofNonce returns the nonce that the server requires in the next proof.
func (a *access) proofNonce() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nonce
}

func (a *access) setNonce(nonce string) {
	if nonce == "" || len(nonce) > maxNonce {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nonce = nonce
}
