package integration

import (
	"encoding/json"
	"io"
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

// keycloakTime is how long Keycloak may take to start; it is half a minute where it has a processor of its own.
const keycloakTime = 3 * time.Minute

// keycloak starts Keycloak as setup.sh installed it, with a copy of its database, and returns its address.
func keycloak(t *testing.T) string {
	t.Helper()
	home := cache(t, "keycloak", "home")
	database, err := os.ReadFile(filepath.Join(home, "data", "h2", "keycloakdb.mv.db"))
	if err != nil {
		missing(t, "Keycloak not installed")
	}
	program(t, "java")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "keycloakdb.mv.db"), database, 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	host, port, _ := strings.Cut(address, ":")
	servingWithin(t, keycloakTime, os.Environ(), address, "bash", filepath.Join(home, "bin", "kc.sh"), "start", "--optimized", "--http-enabled=true", "--http-host="+host, "--http-port="+port,
		"--hostname-strict=false", "--cache=local", "--log-level=error", "--db-url=jdbc:h2:file:"+filepath.Join(folder, "keycloakdb")+";NON_KEYWORDS=VALUE;DB_CLOSE_ON_EXIT=FALSE")
	return address
}

// administered asks Keycloak's administration for something.
func administered(t *testing.T, method, at, token, kind, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, at, response.Status, text, err)
	}
	return text
}

// realm makes Keycloak the authorization server of a site, of a client with a key among others.
func realm(t *testing.T, address, site, key string) (issuer string) {
	t.Helper()
	quoted, _ := json.Marshal(`{"keys":[` + key + `]}`)
	return addRealm(t, address, "junction", "servers/oidc/realm.json", "SITE", site, `"KEYS"`, string(quoted))
}

// addRealm adds the realm of a file, in which texts are replaced, and returns its issuer.
func addRealm(t *testing.T, address, name, file string, texts ...string) (issuer string) {
	t.Helper()
	token := passwordToken(t, "http://"+address+"/realms/master", "admin-cli", "admin", "admin")
	template, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	administered(t, http.MethodPost, "http://"+address+"/admin/realms", token, "application/json", strings.NewReplacer(texts...).Replace(string(template)))
	return "http://" + address + "/realms/" + name
}

// passwordToken is a token of Keycloak for a user, by their password.
func passwordToken(t *testing.T, issuer, client, user, password string) string {
	t.Helper()
	var login struct {
		Token string `json:"access_token"`
	}
	form := url.Values{"client_id": {client}, "grant_type": {"password"}, "username": {user}, "password": {password}}
	text := administered(t, http.MethodPost, issuer+"/protocol/openid-connect/token", "", "application/x-www-form-urlencoded", form.Encode())
	if err := json.Unmarshal(text, &login); err != nil {
		t.Fatal(err)
	}
	return login.Token
}

func TestKeycloak(t *testing.T) {
	t.Parallel()
	address := keycloak(t)
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	defer site.Close()
	file, public := clientKey(t)
	issuer := realm(t, address, site.URL, public)
	endpoint := issuer + "/protocol/openid-connect/"
	read := auth.Options{Scopes: []string{"read"}}
	signed := protect(t, mux, site.URL+"/mcp", issuer, site.URL+"/mcp", "", read)
	asked := protect(t, mux, site.URL+"/asked", issuer, site.URL+"/asked", endpoint+"token/introspect", read)
	bound := protect(t, mux, site.URL+"/bound", issuer, site.URL+"/bound", "", auth.Options{Scopes: []string{"read"}, Proofs: auth.ProofsWithNonce})
	page, port := document(t)

	for name, test := range map[string]struct {
		path string
		sent *sentToken
		run  func(t *testing.T, s *authorizedSite)
	}{
		"a client that registers itself":     {"/mcp", signed, func(t *testing.T, s *authorizedSite) { s.logsIn(t) }},
		"tokens that are bound, with nonces": {"/bound", bound, func(t *testing.T, s *authorizedSite) { s.logsIn(t) }},
		"tokens that are asked about":        {"/asked", asked, func(t *testing.T, s *authorizedSite) { s.logsIn(t) }},
		"a client with a secret": {"/mcp", signed, func(t *testing.T, s *authorizedSite) {
			s.logsInAs(t, `{"clientId":"known","clientSecret":"${THE_SECRET}"}`)
		}},
		"a client with a key": {"/mcp", signed, func(t *testing.T, s *authorizedSite) {
			s.logsInAs(t, `{"clientId":"keyed","privateKey":"`+file+`"}`)
		}},
		"a client with a metadata document": {"/mcp", signed, func(t *testing.T, s *authorizedSite) {
			s.logsInAs(t, `{"clientMetadataUrl":"`+page+`","callbackPort":`+port+`}`)
		}},
		"a token that is revoked": {"/asked", asked, func(t *testing.T, s *authorizedSite) {
			s.outlivesRevocation(t, endpoint+"revoke", false)
		}},
		"a login that is used twice": {"/mcp", signed, func(t *testing.T, s *authorizedSite) {
			s.loginIsStolen(t, s.configured(t, `{"clientId":"brief","clientSecret":"${THE_SECRET}"}`), 2*time.Second)
		}},
	} {
		t.Run(name, func(t *testing.T) { test.run(t, user(t, site.URL+test.path, issuer, test.sent)) })
	}
	t.Run("users of a gateway", func(t *testing.T) { colleaguesOfKeycloak(t, address) })
	t.Run("a gateway that exchanges its users' tokens", func(t *testing.T) { exchanges(t, address, mux, site.URL) })
}
