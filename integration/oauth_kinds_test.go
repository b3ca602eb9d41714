package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp/auth"
)

// clientKey makes the key of a client: its file in PEM, and its public part as a JSON Web Key.
func clientKey(t *testing.T) (file, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return file, fmt.Sprintf(`{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","x":"%s","y":"%s"}`, b64(point[1:33]), b64(point[33:]))
}

// document publishes the metadata of a client that comes back to a port, and returns its URL and the port.
func document(t *testing.T) (at, port string) {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"client_name":"Junction","client_uri":%q,"redirect_uris":["http://127.0.0.1:%s/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
			site.URL+r.URL.Path, site.URL+"/", port)
	}))
	t.Cleanup(site.Close)
	return site.URL + "/client.json", port
}

// configured has a configuration file say what the client is to the authorization server of the site.
func (s *authorizedSite) configured(t *testing.T, oauth string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"site":{"url":"`+s.url+`","oauth":`+oauth+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "THE_SECRET=the secret of the known")
	return file
}

// logsInAs logs in as a client that is registered in some way, and uses the login.
func (s *authorizedSite) logsInAs(t *testing.T, oauth string) {
	t.Helper()
	file := s.configured(t, oauth)
	s.fails(t, "sign in: junction login site", "tools", "site", "--config", file)
	if out := s.run(t, "login", "site", "--config", file); !strings.Contains(out, "Logged in: "+s.url+" at "+s.issuer) {
		t.Errorf("login: %s", out)
	}
	if out := s.run(t, "call", "site", "echo", "Text=hello", "--config", file); !strings.Contains(out, "echo: hello") {
		t.Errorf("call: %s", out)
	}
	if out := s.run(t, "logout", "site", "--config", file); !strings.Contains(out, s.issuer+" revoked it") {
		t.Errorf("logout: %s", out)
	}
	s.fails(t, "sign in: junction login site", "tools", "site", "--config", file)
	if n := s.visits(t); n != 1 {
		t.Errorf("the browser was opened %d times", n)
	}
}

func TestRegisteredClientsLogInAtOIDCProvider(t *testing.T) {
	t.Parallel()
	file, public := clientKey(t)
	first := authorizedServer(t, "3600", "jwt", auth.Options{Scopes: []string{"read"}}, "KEY="+public)
	for name, oauth := range map[string]string{
		"with a secret": `{"clientId":"known","clientSecret":"${THE_SECRET}"}`,
		"with a key":    `{"clientId":"keyed","privateKey":"` + file + `"}`,
	} {
		t.Run(name, func(t *testing.T) { user(t, first.url, first.issuer, first.sent).logsInAs(t, oauth) })
	}
}

// revoke has the authorization server end a token, as one of its clients.
func revoke(t *testing.T, at, client, secret, token string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(url.Values{"token": {token}, "client_id": {client}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" {
		req.SetBasicAuth(url.QueryEscape(client), url.QueryEscape(secret))
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("revocation: %s", response.Status)
	}
}

// outlivesRevocation has an access token revoked at the authorization server: the server refuses it, and the client
// gets another one without its user, unless the authorization server ended the whole login.
func (s *authorizedSite) outlivesRevocation(t *testing.T, revocation string, isWhole bool) {
	t.Helper()
	file := s.configured(t, `{"clientId":"known","clientSecret":"${THE_SECRET}"}`)
	s.run(t, "login", "site", "--config", file)
	s.run(t, "call", "site", "echo", "Text=x", "--config", file)
	token := s.sent.last()
	if code := s.status(t, token); code == http.StatusUnauthorized {
		t.Fatalf("before: %d", code)
	}
	revoke(t, revocation, "known", "the secret of the known", token)
	if code := s.status(t, token); code != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", code)
	}
	visits := 1
	if isWhole {
		s.fails(t, "sign in: junction login site", "call", "site", "echo", "Text=x", "--config", file)
		s.run(t, "login", "site", "--config", file)
		visits++
	}
	if out := s.run(t, "call", "site", "echo", "Text=x", "--config", file); !strings.Contains(out, "echo: x") {
		t.Errorf("after that: %s", out)
	}
	if now := s.sent.last(); now == token || s.visits(t) != visits {
		t.Errorf("the same token: %v, the browser was opened %d times", now == token, s.visits(t))
	}
}

// status is what the server answers to a token.
func (s *authorizedSite) status(t *testing.T, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func TestATokenThatOIDCProviderRevokedIsRefused(t *testing.T) {
	t.Parallel()
	s := authorizedServer(t, "3600", "opaque", auth.Options{Scopes: []string{"read"}})
	s.outlivesRevocation(t, s.issuer+"/token/revocation", true) // this one ends the refresh token, too
}

func TestALoginThatIsUsedTwiceEndsAtOIDCProvider(t *testing.T) {
	t.Parallel()
	s := authorizedServer(t, "1", "jwt", auth.Options{Scopes: []string{"read"}})
	s.loginIsStolen(t, s.configured(t, `{"clientId":"known","clientSecret":"${THE_SECRET}"}`), time.Second)
}

// loginIsStolen copies a user's files to another machine, where the login is used, too: the authorization server sees a
// refresh token twice, and ends the login. Both users are asked to log in.
func (s *authorizedSite) loginIsStolen(t *testing.T, file string, ttl time.Duration) {
	t.Helper()
	s.run(t, "login", "site", "--config", file)
	thief := *s
	thief.env = append(append([]string{}, s.env...), isolated(t)[len(os.Environ()):]...)
	var from, to string
	for _, v := range s.env {
		if folder, is := strings.CutPrefix(v, "XDG_CONFIG_HOME="); is {
			from = folder
		}
	}
	for _, v := range thief.env {
		if folder, is := strings.CutPrefix(v, "XDG_CONFIG_HOME="); is {
			to = folder
		}
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(ttl)
	if out := s.run(t, "call", "site", "echo", "Text=x", "--config", file); !strings.Contains(out, "echo: x") { // renews it
		t.Errorf("before: %s", out)
	}
	thief.fails(t, "sign in: junction login site", "call", "site", "echo", "Text=x", "--config", file)
	time.Sleep(ttl)
	s.fails(t, "sign in: junction login site", "call", "site", "echo", "Text=x", "--config", file)
	if n := s.visits(t); n != 1 {
		t.Errorf("the browser was opened %d times", n)
	}
	s.run(t, "login", "site", "--config", file)
	if out := s.run(t, "call", "site", "echo", "Text=x", "--config", file); !strings.Contains(out, "echo: x") {
		t.Errorf("after another login: %s", out)
	}
}
