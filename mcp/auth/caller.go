package auth

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp/oauth"
)

type callerKey struct{}

// Carry returns a handler that passes requests on to a handler behind a [Guard]. While a request
// runs, [CallerOf] returns the caller and the token from the request's context. It is for programs
// that exchange that token for another (see [oauth.Exchange]). Only the context of the request
// holds the token.
func Carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, new(atomic.Pointer[oauth.Caller]))))
	})
}

// CallerOf returns the caller and the token of a request that went through [Carry]. found is false
// if no [Guard] accepted a token, for example because the caller has a key.
func CallerOf(ctx context.Context) (c oauth.Caller, found bool) {
	place, _ := ctx.Value(callerKey{}).(*atomic.Pointer[oauth.Caller])
	if place == nil {
		return c, false
	}
	if came := place.Load(); came != nil {
		return *came, true
	}
	return c, false
}

// carry stores the token of a request if Carry prepared its context.
func carry(ctx context.Context, t *Token, text string) {
	if place, _ := ctx.Value(callerKey{}).(*atomic.Pointer[oauth.Caller]); place != nil {
		place.Store(&oauth.Caller{Issuer: t.Issuer, Subject: t.Subject, ClientID: t.ClientID, Scopes: t.Scopes, Expires: t.Expires, Token: oauth.NewSecret(text)})
	}
}
