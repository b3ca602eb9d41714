package oauth

import (
	"slices"
	"testing"
)

// The client registers, requests a token and revokes it with one method. FastMCP revokes only for
// clients that use the first method it lists.
func TestClientsAuthenticateByTheFirstNamedMethod(t *testing.T) {
	for _, test := range []struct {
		name  string
		takes any            // methods that the authorization server lists
		gives map[string]any // members of the registration response
		want  []string       // methods of the registration, the token request and the revocation
	}{
		{"nothing", nil, nil, []string{methodNone, methodNone, methodNone}},
		{"none is among them", []string{methodPost, methodNone}, nil, []string{methodNone, methodNone, methodNone}},
		{"post first", []string{methodPost, methodBasic}, map[string]any{"client_secret": "secret", "token_endpoint_auth_method": methodPost}, []string{methodPost, methodPost, methodPost}},
		{"basic first", []string{methodBasic, methodPost}, map[string]any{"client_secret": "secret", "token_endpoint_auth_method": methodBasic}, []string{methodBasic, methodBasic, methodBasic}},
		{"post only", []string{methodPost}, map[string]any{"client_secret": "secret"}, []string{methodPost, methodPost, methodPost}},
		{"a key before them", []string{methodKey, methodPost, methodBasic}, map[string]any{"client_secret": "secret"}, []string{methodPost, methodPost, methodPost}},
		{"none of them", []string{methodKey}, map[string]any{"client_secret": "secret"}, []string{methodBasic, methodBasic, methodBasic}},
		{"another than was asked for", []string{methodPost, methodBasic}, map[string]any{"client_secret": "secret", "token_endpoint_auth_method": methodBasic}, []string{methodPost, methodBasic, methodBasic}},
		{"a secret that was not asked for", []string{methodNone, methodPost}, map[string]any{"client_secret": "secret"}, []string{methodNone, methodPost, methodPost}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			s.issuer, s.registered = map[string]any{"token_endpoint_auth_methods_supported": test.takes}, test.gives
			c := s.client(nil)
			if _, err := c.Login(t.Context(), s.URL+"/mcp", nil); err != nil {
				t.Fatal(err)
			}
			if _, revoked, err := c.Logout(t.Context(), s.URL+"/mcp"); err != nil || !revoked || !slices.Equal(s.methods, test.want) {
				t.Errorf("%q, want %q; revoked %v, %v", s.methods, test.want, revoked, err)
			}
		})
	}
}
