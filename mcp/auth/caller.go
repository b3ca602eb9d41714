package auth

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp/oauth"
)

type callerKey struct{}

// KeepToken returns a handler that passes requests on to next, which must check them with a
// [Guard]. While next runs, [TokenCallerOf] returns the caller and the token from the context of
// the request. Programs that exchange the token for another one need it (see [oauth.Exchange]).
// Only that context contains the token.
func KeepToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, new(atomic.Pointer[oauth.Caller]))))
	})
}

// TokenCallerOf returns the caller and the token of a request that passed through [KeepToken]. It
// reports false if no [Guard] accepted a token, for example because the caller has a key.
func TokenCallerOf(ctx context.Context) (c oauth.Caller, found bool) {
	place, _ := ctx.Value(callerKey{}).(*atomic.Pointer[oauth.Caller])
	if place == nil {
		return c, false
	}
	if came := place.Load(); came != nil {
		return *came, true
	}
	return c, false
}

// keepToken stores the token of a request if KeepToken prepared its context.
func keepToken(ctx context.Context, t *Token, text string) {
	if place, _ := ctx.Value(callerKey{}).(*atomic.Pointer[oauth.Caller]); place != nil {
		place.Store(&oauth.Caller{Issuer: t.Issuer, Subject: t.Subject, ClientID: t.ClientID, Scopes: t.Scopes, Expires: t.Expires, Token: oauth.NewSecret(text)})
	}
}
