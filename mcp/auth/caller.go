package auth

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp/oauth"
)

type callerKey struct{}

// Carry returns a handler that passes requests on to one which a [Guard] protects: while a request runs, [CallerOf] finds in
// its context with which token it came. It is for who exchanges that token for another (see [oauth.Exchange]); the token is
// in the context of the request, and nowhere else.
func Carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, new(atomic.Pointer[oauth.Caller]))))
	})
}

// CallerOf is who came with a request that went through [Carry], and with which token; found is false where a [Guard] has not
// let it in, such as by a key.
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

// carry notes the token of a request, where that is wanted.
func carry(ctx context.Context, t *Token, text string) {
	if place, _ := ctx.Value(callerKey{}).(*atomic.Pointer[oauth.Caller]); place != nil {
		place.Store(&oauth.Caller{Issuer: t.Issuer, Subject: t.Subject, ClientID: t.ClientID, Scopes: t.Scopes, Expires: t.Expires, Token: oauth.NewSecret(text)})
	}
}
