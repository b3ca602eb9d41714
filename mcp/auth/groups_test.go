package auth

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestPrincipalsHaveTheGroupsOfTheirTokens(t *testing.T) {
	for _, tt := range []struct {
		name, claim string
		claims      map[string]any
		want        []string
	}{
		{"the usual claim", "", map[string]any{"groups": []string{"eng", "ops", "eng"}}, []string{"eng", "ops"}},
		{"one group", "", map[string]any{"groups": "eng ops"}, []string{"eng ops"}},
		{"another claim", "https://example.com/groups", map[string]any{"https://example.com/groups": []string{"eng"}, "groups": []string{"ops"}}, []string{"eng"}},
		{"a claim inside of another", "/realm_access/roles", map[string]any{"realm_access": map[string]any{"roles": []string{"eng"}}}, []string{"eng"}},
		{"a claim inside of nothing", "/realm_access/roles", map[string]any{"realm_access": "roles"}, nil},
		{"other values", "", map[string]any{"groups": []any{1, "", nil, "eng", []string{"ops"}}}, []string{"eng"}},
		{"none", "", map[string]any{}, nil},
	} {
		g := newGiver(t)
		g.active["opaque"] = g.claims(tt.claims)
		g.active["opaque"]["active"] = true
		for token, v := range map[string]Verifier{
			g.token(tt.claims): JWT(JWTOptions{Issuer: g.URL, HTTP: g.Client(), Groups: tt.claim}),
			"opaque":           Introspection(IntrospectionOptions{Issuer: g.URL, URL: g.URL + "/introspect", ClientID: "server", Secret: "its secret", HTTP: g.Client(), Groups: tt.claim}),
		} {
			guard := g.guard(Options{Verifier: v})
			req := httptest.NewRequest(http.MethodPost, resource, nil)
			req.Header = bearer(token)
			if p, err := guard.Principal(req); err != nil || !slices.Equal(p.Groups, tt.want) {
				t.Errorf("%s: %+v, %v, want %q", tt.name, p, err, tt.want)
			}
		}
	}
}
