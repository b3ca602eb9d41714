package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"sync"
)

// access is what the client has at one server.
type access struct {
	server *url.URL
	turn   chan struct{} // of capacity 1: who could send on it changes the rest

	mu     sync.Mutex
	login  *login // nil: none
	looked bool   // whether the store was asked
	nonce  string // that the server wants in the next proof
	tries  int    // to get a token that ended
	failed error  // of the last one; nil if it worked
	with   string // what that one was made with, where not all are made with the same
}

// A login is what an authorization server lets the client do with a resource. It is not changed once it is seen.
type login struct {
	Server   string       `json:"server"`   // for which it began
	Resource string       `json:"resource"` // empty: see isIdentity
	Issuer   *issuer      `json:"issuer"`
	Client   Registration `json:"client"`
	Token    accessToken  `json:"token"`
	Proof    *proofKey    `json:"proof,omitempty"` // of who has the token; nil: none is sent

	guessed bool // whether nothing says that the authorization server is one
}

// isIdentity reports whether a login is the user's at their identity provider, and for no server.
func (l *login) isIdentity() bool { return l.Resource == "" }

// form is a request for a token, with the resource that it is for.
func (l *login) form(form url.Values) url.Values {
	if l.Resource != "" {
		form.Set("resource", l.Resource)
	}
	return form
}

// covers reports whether a login has all of some scopes.
func (l *login) covers(scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(l.Token.Scopes, s) })
}

// isOther reports whether a login has another token than one that was refused, and none that was there before it;
// nil is no login.
func (l *login) isOther(refused *login) bool {
	return l != nil && (refused == nil || l.Token.Access != refused.Token.Access && !l.Token.At.Before(refused.Token.At))
}

// mark names a login's token for another process, and does not tell it.
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

// lock waits for the turn to change the access. It also returns the error of an attempt with the same token that failed
// meanwhile, so that the user is not sent to a page again. with is empty where all attempts are alike.
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

// ended notes how an attempt to get a token ended.
func (a *access) ended(with string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries, a.with, a.failed = a.tries+1, with, err
}

// proofNonce is what the server wants in the next proof; it is changed by setNonce.
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
