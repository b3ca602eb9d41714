package integration

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// providerLogins is `junction up --auth local` in front of everything, whose users log in at an OpenID provider, and which begins
// with a callback address.
func providerLogins(t *testing.T, address string, provider object) *authorizedSite {
	t.Helper()
	everything := realServer{name: "everything", argv: func(t testing.TB) []string { return []string{junction(t), "serve", "everything"} }}
	config := upConfig(t, []realServer{everything})
	provider["clientId"], provider["secretEnv"], provider["domains"] = "gateway", "GATEWAY_SECRET", []string{"corp.example"}
	writeFile(t, filepath.Join(filepath.Dir(config), "junction.json"), encode(t, object{"junction": object{
		"authorization": object{"needs": []string{"use"}, "scopes": []string{"build"}, "tokenTime": "3s", "provider": provider},
		"roles":         object{"adders": object{"who": []string{"group:eng"}, "tools": []string{"everything__add"}}},
	}}))
	s := user(t, "http://"+address+"/mcp", "http://"+address, nil)
	s.env = append(s.env, "GATEWAY_SECRET=the secret of the gateway")
	serving(t, s.env, address, s.program, "up", "--config", config, "--http", address, "--auth", "local")
	return s
}

// endsWithTheProvider goes through what a user of a provider does, until the provider does not know the user any more.
func (s *authorizedSite) endsWithTheProvider(t *testing.T, name string, logout, disable func()) {
	t.Helper()
	if out := s.run(t, "login", s.url); !strings.Contains(out, "build") { // a scope of the group, which only userinfo names
		t.Errorf("login: %s", out)
	}
	call := []string{"call", s.url, "everything__add", "a=1", "b=2"}
	for range 2 {
		if out := s.run(t, call...); !strings.Contains(out, "3") {
			t.Errorf("call: %s", out)
		}
		s.fails(t, "your roles: adders", "call", s.url, "everything__echo", "text=a")
		time.Sleep(4 * time.Second) // so that its token is renewed
	}
	if out := s.run(t, "user", "list"); !strings.Contains(out, name+"  since ") {
		t.Errorf("user list: %s", out)
	}
	s.run(t, "user", "logout", name)
	s.fails(t, "junction login "+s.url, call...)
	s.run(t, "login", s.url)
	if out := s.run(t, call...); !strings.Contains(out, "3") {
		t.Errorf("call: %s", out)
	}
	logout()
	s.fails(t, "junction login "+s.url, call...) // at once: the access token is still valid
	s.run(t, "login", s.url)
	if out := s.run(t, call...); !strings.Contains(out, "3") {
		t.Errorf("call: %s", out)
	}
	disable()
	time.Sleep(4 * time.Second)
	s.fails(t, "junction login "+s.url, call...)
}

func TestUsersOfOIDCProviderAreOutWithIt(t *testing.T) {
	t.Parallel()
	at, gateway := freeAddress(t), freeAddress(t)
	serving(t, append(nodeEnv(t), "GATEWAY=http://"+gateway+"/oauth/callback"), at, append(nodeScript(t, "oauth", "servers/oidc/provider.mjs"), at)...)
	s := providerLogins(t, gateway, object{"issuer": "http://" + at + "/", "scopes": []string{"use"}, "groups": object{"eng": []string{"build"}}})
	post := func(path string) func() {
		return func() {
			response, err := http.Post("http://"+at+path, "text/plain", nil)
			if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%s: %+v, %v", path, response, err)
			}
		}
	}
	s.endsWithTheProvider(t, "ada@corp.example", post("/logout"), post("/disable"))
}

// colleaguesOfKeycloak are those of a realm that tells a gateway of their addresses and groups at its userinfo endpoint.
func colleaguesOfKeycloak(t *testing.T, address string) {
	t.Helper()
	gateway := freeAddress(t)
	issuer := addRealm(t, address, "colleagues", "servers/oidc/colleagues.json", "CALLBACK", "http://"+gateway+"/oauth/callback", "LOGOUT", "http://"+gateway+"/oauth/backchannel-logout")
	s := providerLogins(t, gateway, object{"issuer": issuer, "scopes": []string{"use"}, "groups": object{"eng": []string{"build"}}})
	admin := func(method, path, body string) []byte {
		token := passwordToken(t, "http://"+address+"/realms/master", "admin-cli", "admin", "admin")
		return administered(t, method, "http://"+address+"/admin/realms/colleagues"+path, token, "application/json", body)
	}
	ids := func(path string) (all []string) {
		var found []struct{ ID string }
		if err := json.Unmarshal(admin(http.MethodGet, path, ""), &found); err != nil || len(found) == 0 {
			t.Fatalf("%s: %+v, %v", path, found, err)
		}
		for _, one := range found {
			all = append(all, one.ID)
		}
		return all
	}
	user := "/users/" + ids("/users")[0]
	logout := func() { // sessions with a refresh token that outlasts the browser's are offline sessions of Keycloak
		for _, session := range ids(user + "/offline-sessions/" + ids("/clients?clientId=gateway")[0]) {
			admin(http.MethodDelete, "/sessions/"+session+"?isOffline=true", "")
		}
	}
	s.endsWithTheProvider(t, "ada@corp.example", logout, func() { admin(http.MethodPut, user, `{"enabled":false}`) })
}
