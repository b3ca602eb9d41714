package up_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// exchanging returns an Access that lets users in by token, and a server whose tokens come from
// exchange.
func exchanging(t *testing.T, verify verifierFunc) (*up.Access, *up.Exchanging) {
	t.Helper()
	x := &up.Access{Refused: up.RefusalCounter{Log: slog.New(slog.DiscardHandler)}, Origins: []string{"http://127.0.0.1:1"}, Issuers: []string{"https://login.example.com"}, Guards: map[string]*auth.Guard{}, Exchanges: &up.Exchanges{}}
	x.Verifier = verify
	made, err := oauth.NewExchange("http://127.0.0.1:1/files", oauth.ExchangeOptions{Caller: auth.TokenCallerOf, Base: open{}, Client: oauth.Options{HTTP: &http.Client{Transport: open{}}}})
	if err != nil {
		t.Fatal(err)
	}
	one := &up.Exchanging{}
	one.Made.Store(made)
	x.Exchanges.Add(one)
	return x, one
}

// The exchanged token of a user ends when the user's own token is found revoked.
func TestRevokedTokensEndExchangedOnes(t *testing.T) {
	revoked := false
	x, one := exchanging(t, func(string) (*auth.Token, error) {
		if revoked {
			return nil, auth.ErrInactive
		}
		return &auth.Token{Issuer: "https://login.example.com", Subject: "ada", Audience: []string{"http://127.0.0.1:1/mcp"}, Fresh: time.Now()}, nil
	})
	principal, _ := x.At("/mcp")
	var got *oauth.Exchanged
	endpoint := auth.KeepToken(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := principal(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		caller, found := auth.TokenCallerOf(r.Context())
		if !found || strings.Contains(fmt.Sprintf("%v %+v %#v", p, *p, caller), "t0ken") || caller.Token.Reveal() != "t0ken" {
			t.Errorf("%+v came as %+v", p, caller)
		}
		whose, err := one.CallerOf(r.Context(), &mcp.Request{Principal: p})
		if err != nil {
			t.Error(err)
			return
		}
		got = whose.(*oauth.Exchanged)
		other := *p
		other.Scopes = []string{"more"}
		if _, err := one.CallerOf(r.Context(), &mcp.Request{Principal: &other}); err == nil || !strings.Contains(err.Error(), "connect again") {
			t.Errorf("a message with other rights than its stream: %v", err)
		}
	}))
	ask := func() int {
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/mcp", nil)
		req.Header.Set("Authorization", "Bearer t0ken")
		w := httptest.NewRecorder()
		endpoint.ServeHTTP(w, req)
		return w.Code
	}
	sends := func() error {
		response, err := got.RoundTrip(httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/files", nil))
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if code := ask(); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	if err := sends(); err != nil {
		t.Error(err)
	}
	revoked = true
	if code := ask(); code != http.StatusUnauthorized {
		t.Errorf("status %d", code)
	}
	if err := sends(); err == nil || !strings.Contains(err.Error(), oauth.ErrCallerEnded.Error()) {
		t.Errorf("after the token was revoked: %v", err)
	}
}

type verifierFunc func(token string) (*auth.Token, error)

func (f verifierFunc) Verify(_ context.Context, token, _ string) (*auth.Token, error) {
	return f(token)
}

// open is a server that needs no token.
type open struct{}

func (open) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
}
