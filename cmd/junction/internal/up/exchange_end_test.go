package up_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/oauth"
	uplib "github.com/junction-mcp/junction/up"
)

// exchangeDesk returns an Access with one valid token, for which it has got another in exchange.
func exchangeDesk(t *testing.T, token auth.Token, first http.Header) (_ *up.Access, sends func() error) {
	t.Helper()
	x, one := exchanging(t, func(string) (*auth.Token, error) { one := token; return &one, nil })
	principal, _ := x.At("/mcp")
	var got *oauth.Exchanged
	endpoint := auth.KeepToken(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := principal(r)
		if err != nil {
			t.Fatalf("the owner: %v", err)
		}
		whose, err := one.CallerOf(r.Context(), &mcp.Request{Principal: p})
		if err != nil {
			t.Fatal(err)
		}
		got = whose.(*oauth.Exchanged)
	}))
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/mcp", nil)
	req.Header = first
	endpoint.ServeHTTP(httptest.NewRecorder(), req)
	return x, func() error {
		response, err := got.RoundTrip(httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/files", nil))
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
}

// A token that is bound to a key is useless to a thief. Using it without the key does not end the
// tokens that its owner got.
func TestBoundTokensWithoutTheirKeyEndNothingOfTheOwner(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	thumbprint, _ := (&jose.JSONWebKey{Key: key.Public()}).Thumbprint(crypto.SHA256)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("t0ken"))
	claims, _ := json.Marshal(map[string]any{"jti": "1", "htm": "POST", "htu": "http://127.0.0.1:1/mcp", "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(hash[:])})
	object, _ := signer.Sign(claims)
	proof, _ := object.CompactSerialize()
	x, sends := exchangeDesk(t, auth.Token{Issuer: "https://login.example.com", Subject: "ada", Audience: []string{"http://127.0.0.1:1/mcp"}, Fresh: time.Now().Add(time.Hour), Thumbprint: base64.RawURLEncoding.EncodeToString(thumbprint)},
		http.Header{"Authorization": {"DPoP t0ken"}, "Dpop": {proof}})
	if err := sends(); err != nil {
		t.Fatal(err)
	}
	principal, _ := x.At("/mcp")
	stolen := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/mcp", nil)
	stolen.Header.Set("Authorization", "Bearer t0ken")
	_, refused := principal(stolen)
	if !errors.Is(refused, auth.ErrToken) {
		t.Errorf("the thief: %v", refused)
	}
	if err := sends(); err != nil {
		t.Errorf("the thief is refused (%v), and the owner, whose token holds: %v", refused, err)
	}
}

// A valid token at an endpoint that it is not for does not end its use elsewhere.
func TestATokenAtAnotherEndpointEndsNothingThatWasGotForIt(t *testing.T) {
	x, sends := exchangeDesk(t, auth.Token{Issuer: "https://login.example.com", Subject: "ada", Audience: []string{"http://127.0.0.1:1/mcp"}, Fresh: time.Now().Add(time.Hour)}, http.Header{"Authorization": {"Bearer t0ken"}})
	if err := sends(); err != nil {
		t.Fatal(err)
	}
	principal, _ := x.At("/p/other/mcp")
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/p/other/mcp", nil)
	req.Header.Set("Authorization", "Bearer t0ken")
	_, refused := principal(req)
	if !errors.Is(refused, auth.ErrToken) {
		t.Errorf("elsewhere: %v", refused)
	}
	if err := sends(); err != nil {
		t.Errorf("refused elsewhere (%v), and where the token holds: %v", refused, err)
	}
}

// A server stays in use if its replacement fails. A revoked token must then still end the tokens
// that were got for it there.
func TestUnusedReplacementsEndNothing(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"s.json": `{"mcpServers":{"files":` + clitest.ExchangeEntry("http://127.0.0.1:1/files", "") + `}}`})
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}})
	a.Launch.Config = []string{"s.json"}
	c, err := a.Launch.Read()
	entries := c.Entries
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	v := &up.Served{App: a, Gateway: clitest.GatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone})}
	v.Options.Auth = []string{"https://login.example.com"}
	g, server := v.Gateway, v.Source().Server(entries[0])
	apply := func(servers ...uplib.Server) uplib.Diff {
		d, err := g.Apply(t.Context(), &uplib.Plan{Layers: g.Layers().Plan(), Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	v.Start(t.Context(), "")
	if d := apply(server, server); len(d.Failed) != 1 || len(v.Exchanges.All) != 1 {
		t.Fatalf("added, and again, which fails: %d are kept, %v", len(v.Exchanges.All), d.Failed)
	}
	first := v.Exchanges.All[0]
	server.Print += "changed"
	if d := apply(server); !slices.Equal(d.Changed, []string{"files"}) {
		t.Errorf("it is not replaced: %+v", d)
	}
	v.Exchanges.Mu.Lock()
	if all := v.Exchanges.All; len(all) == 0 || all[len(all)-1] == first {
		t.Errorf("replaced: %d are kept", len(all))
	}
	v.Exchanges.Mu.Unlock()
	apply()
	if g.Members().Close(); len(v.Exchanges.All) != 0 {
		t.Errorf("removed: %d are kept", len(v.Exchanges.All))
	}
}
