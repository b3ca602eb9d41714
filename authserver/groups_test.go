package authserver

import (
	"net/http"
	"slices"
	"testing"
)

// TestTokensHaveTheGroupsOfTheProvider checks groups of userinfo that give no scopes.
func TestTokensHaveTheGroupsOfTheProvider(t *testing.T) {
	for _, tt := range []struct {
		name  string
		all   bool
		claim string
		info  map[string]any
		want  []string
	}{
		{"all groups", true, "", map[string]any{"groups": []string{"eng", "sales"}}, []string{"eng", "sales"}},
		{"those that give scopes", false, "", map[string]any{"groups": []string{"eng", "sales"}}, []string{"eng"}},
		{"a claim inside of another", true, "/realm_access/roles", map[string]any{"realm_access": map[string]any{"roles": []string{"sales"}}}, []string{"sales"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, o := newProviderSite(t)
			p := s.options.Provider
			p.Groups, p.AllGroups, p.GroupsClaim = map[string][]string{"eng": {"write"}}, tt.all, tt.claim
			if tt.all {
				p.Groups = nil // so that roles alone have them read
			}
			tt.info["sub"] = "1234"
			o.userinfo(s.web, "application/json", tt.info)
			id := s.register("A client", callback)
			b := s.browser("nobody")
			page, _ := o.visit(s, b, ask(id, callback))
			if page.Action == "" {
				t.Fatalf("%d %s", page.Status, page.Text)
			}
			page, err := b.Send(t.Context(), page.Action, b.Fill(page))
			if err != nil {
				t.Fatal(err)
			}
			status, got := s.redeem(id, callback, query(page.Next()).Get("code"))
			if status != http.StatusOK {
				t.Fatalf("%d %v", status, got)
			}
			token, err := s.Verify(t.Context(), s.tokensIn(id, status, got).access, resource)
			if err != nil || !slices.Equal(token.Groups, tt.want) {
				t.Errorf("%+v, %v, want %q", token, err, tt.want)
			}
		})
	}
}
