package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// An exchangeSite is an authorization server that exchanges tokens, and two servers that want some of it: at /modern, and,
// of a legacy revision, at /legacy. The integration layer has a real one.
type exchangeSite struct {
	*httptest.Server
	signer jose.Signer

	mu        sync.Mutex
	exchanged []string     // subjects
	own       int          // tokens of the gateway's own
	sent      []string     // tokens that came to the servers
	n         atomic.Int64 // tokens that were given
}

func newExchangeSite(t *testing.T) *exchangeSite {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &exchangeSite{}
	if s.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, (&jose.SignerOptions{}).WithType("at+jwt")); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	say := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) })
	}
	say("/.well-known/oauth-authorization-server", map[string]any{"issuer": s.URL, "token_endpoint": s.URL + "/token", "jwks_uri": s.URL + "/keys"})
	say("/keys", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	mux.HandleFunc("/token", s.token)
	for _, path := range []string{"/modern", "/legacy"} {
		server := mcp.NewServer("files", "1")
		mcp.AddTool(server, "whoami", func(ctx context.Context, _ struct{}) (string, error) {
			return mcp.RequestFrom(ctx).Principal.Subject, nil
		})
		guard, err := auth.New(auth.Options{Resource: s.URL + path, Servers: []string{s.URL}, Verifier: auth.JWT(auth.JWTOptions{Issuer: s.URL, HTTP: up.GuardedFor(s.URL, nil)}), Scopes: []string{"files"}})
		if err != nil {
			t.Fatal(err)
		}
		h := streamable.HandlerWith(server, streamable.Options{Principal: guard.Principal})
		t.Cleanup(h.Close)
		mux.Handle(guard.MetadataPath(), guard.Metadata())
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.sent = append(s.sent, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			s.mu.Unlock()
			if path == "/legacy" && r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
				http.Error(w, "no session", http.StatusBadRequest)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	return s
}

// give is a token for a user at some places.
func (s *exchangeSite) give(subject string, lasts time.Duration, scope string, at ...string) string {
	text, err := json.Marshal(map[string]any{
		"iss": s.URL, "sub": subject, "aud": at, "client_id": "client", "scope": scope, "iat": time.Now().Unix(), "exp": time.Now().Add(lasts).Unix(), "jti": fmt.Sprint(s.n.Add(1)),
	})
	if err != nil {
		panic(err)
	}
	object, err := s.signer.Sign(text)
	if err != nil {
		panic(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

func (s *exchangeSite) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	subject := "the gateway"
	switch {
	case id != "gateway" || secret != "hush":
		refuse("invalid_client")
		return
	case r.PostFormValue("grant_type") == "client_credentials":
		s.own++
	default:
		object, err := jose.ParseSignedCompact(r.PostFormValue("subject_token"), []jose.SignatureAlgorithm{jose.ES256})
		var claims struct{ Sub string }
		if err != nil || json.Unmarshal(object.UnsafePayloadWithoutVerification(), &claims) != nil || claims.Sub == "eve" || r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" {
			refuse("access_denied")
			return
		}
		subject = claims.Sub
		s.exchanged = append(s.exchanged, subject)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": s.give(subject, time.Hour, r.PostFormValue("scope"), r.PostFormValue("resource")), "token_type": "Bearer", "expires_in": 3600,
		"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
}

func TestUpActsForEachUserWithTheirOwnToken(t *testing.T) {
	clitest.NoState(t)
	s := newExchangeSite(t)
	clitest.Setenv(t, "GATEWAY_SECRET", "hush")
	var traces strings.Builder
	var tracing sync.Mutex
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		tracing.Lock()
		defer tracing.Unlock()
		_, _ = io.Copy(&traces, r.Body)
	}))
	defer collector.Close()
	key := strings.TrimSpace(runs(t, "", "key", "create", "robot").stdout)
	file := settingsFile(t, `{"modern":`+clitest.ExchangeEntry(s.URL+"/modern", "")+`,"legacy":`+clitest.ExchangeEntry(s.URL+"/legacy", "")+`}`, `{"tools":"all","audit":{"results":"keep"}}`)
	r := serving(t, "up", "--auth", "keys,"+s.URL, "--config", file, "--audit=log", "--otlp", collector.URL, "--log-level", "debug")
	call := func(who, token, server string, more ...string) outcome {
		return runs(t, "", append([]string{"call", r.url, server + "__whoami", "--header", "Authorization: Bearer " + token}, more...)...)
	}
	given := map[string]string{}
	var calls sync.WaitGroup
	for _, who := range []string{"ada", "ben"} {
		token := s.give(who, time.Hour, "", r.url)
		given[who] = token
		for _, server := range []string{"modern", "legacy"} {
			for _, revision := range []string{"2025-06-18", "2026-07-28"} {
				for range 3 {
					calls.Go(func() { call(who, token, server, "--revision", revision).expect(t, cli.ExitOK, who, "") })
				}
			}
		}
	}
	calls.Wait()
	s.mu.Lock()
	slices.Sort(s.exchanged)
	if got := fmt.Sprint(s.exchanged); got != "[ada ada ben ben]" || s.own != 2 { // one for each server
		t.Errorf("exchanged for %s, and %d of the gateway's own", got, s.own)
	}
	secrets := slices.Clone(s.sent)
	for who, token := range given {
		if slices.Contains(s.sent, token) {
			t.Errorf("a server got the token of %s", who)
		}
		secrets = append(secrets, token)
	}
	s.mu.Unlock()
	call("eve", s.give("eve", time.Hour, "", r.url), "modern").expect(t, cli.ExitConnection, "", "access_denied; the authorization server must let oauth.clientId of modern exchange this user's tokens")
	call("robot", key, "modern").expect(t, cli.ExitConnection, "", "the caller did not send an access token: log in at the gateway, and do not use a key")

	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	seen := map[string]string{"standard error": r.stderr.String(), "traces": traces.String()}
	state, err := clitest.PlaceOf(t).State("")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{clitest.In(t, "log"), state} {
		_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				text, _ := os.ReadFile(path)
				seen[path] = string(text)
			}
			return nil
		})
	}
	if !strings.Contains(fmt.Sprint(seen), `"principal":"ada"`) || traces.Len() == 0 || len(seen) < 4 {
		t.Errorf("not all is written down: %q", slices.Sorted(maps.Keys(seen)))
	}
	for where, text := range seen {
		for _, secret := range secrets {
			if secret != "" && strings.Contains(text, secret[len(secret)-40:]) {
				t.Errorf("%s has a token", where)
			}
		}
	}
}

func TestSettingsThatContradictAnExchangeAreErrors(t *testing.T) {
	clitest.NoState(t)
	clitest.Setenv(t, "GATEWAY_SECRET", "hush")
	at := clitest.ExchangeEntry("http://127.0.0.1:1/mcp", "")
	for name, test := range map[string]struct {
		servers, settings string
		args              []string
		want              string
	}{
		"one connection for all":    {at, `{"servers":{"files":{"isolation":"shared"}}}`, []string{"--auth", "https://a.example"}, `junction.servers.files.isolation is "shared"; make it "user", or remove it`},
		"one for each client":       {at, `{"servers":{"files":{"isolation":"client"}}}`, []string{"--auth", "https://a.example"}, `isolation is "client"`},
		"nobody comes with a token": {at, `{}`, []string{"--auth", "keys"}, "start junction up with --auth URL"},
		"everybody is let in":       {at, `{}`, nil, "start junction up with --auth URL"},
	} {
		t.Run(name, func(t *testing.T) {
			r := serving(t, append([]string{"up", "--config", settingsFile(t, `{"files":`+test.servers+`}`, test.settings)}, test.args...)...)
			r.stop()
			if said := r.stderr.String(); !strings.Contains(said, `server "files": oauth.grant token-exchange`) || !strings.Contains(said, test.want) {
				t.Errorf("%s, want %q", said, test.want)
			}
		})
	}
	file := settingsFile(t, `{"files":`+at+`}`, `{}`)
	got := runs(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n", "up", "--stdio", "--config", file)
	if !strings.Contains(got.stderr, `server "files": oauth.grant token-exchange needs the tokens of users, which standard input does not have`) {
		t.Errorf("on standard input: %+v", got)
	}
}
