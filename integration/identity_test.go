package integration

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp/auth"
)

// oidc-provider plays an organization's identity provider as far as it goes: the login, its renewal and its end. It knows no
// assertion grants (id-jag), and so refuses the token for the server.
func TestAUserLogsInAtOIDCProviderAsTheirOrganization(t *testing.T) {
	t.Parallel()
	s := authorizedServer(t, "3600", "jwt", auth.Options{Scopes: []string{"read"}}, "IDENTITY_TTL=2")
	file := s.configured(t, `{"clientId":"known","clientSecret":"${THE_SECRET}","grant":"enterprise","identityProvider":"`+s.issuer+`","identityClientId":"known","identityClientSecret":"${THE_SECRET}"}`)
	s.fails(t, "sign in: junction login site", "tools", "site", "--config", file)
	s.fails(t, "you are logged in at "+s.issuer+", but got no token for site", "login", "site", "--config", file)
	who := s.run(t, "whoami", "site", "--config", file)
	if !strings.Contains(who, "your identity, at "+s.issuer+", renewed by itself") {
		t.Errorf("whoami: %s", who)
	}
	for try := 0; s.counts(t).Refreshes == 0; try++ { // each command takes some tenths of a second
		if try == 100 {
			t.Fatal("the ID token expires, and is not renewed")
		}
		s.fails(t, "the identity provider "+s.issuer, "tools", "site", "--config", file)
	}
	if n := s.visits(t); n != 1 {
		t.Errorf("the browser was opened %d times", n)
	}
	if out := s.run(t, "logout", "site", "--config", file); !strings.Contains(out, "Logged out: "+s.issuer+" revoked it.") {
		t.Errorf("logout: %s", out)
	}
	s.fails(t, "sign in: junction login site", "tools", "site", "--config", file)
}
