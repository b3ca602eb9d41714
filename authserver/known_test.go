package authserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/formfill"
)

// ends returns the page, or the address on another site, at which a browser that follows redirects
// ends.
func ends(t *testing.T, b *formfill.Browser, at string) (*formfill.Page, string) {
	t.Helper()
	for range 5 {
		p, err := b.Get(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if at = p.Next(); at == "" || !strings.HasPrefix(at, issuer) {
			return p, at
		}
	}
	t.Fatal("the redirects do not end")
	return nil, ""
}

func TestBrowserLeavesOnlyForAddressesThatTheUserAllowed(t *testing.T) {
	const to = "https://site.example/login"
	s := newSite(t)
	s.publish(documentAt, `{"client_id":"`+documentAt+`","client_name":"App","redirect_uris":["`+siteCallback+`"]}`)
	id, scheme := s.register("Anything", to, to+"/too"), s.register("A program", "app.example:/back")
	ann := s.browser("ann")
	s.code(ann, ask(id, to), to)
	wrong, silent := []string{"code_challenge", "-"}, []string{"prompt", "none"}
	for _, test := range []struct {
		name   string
		b      *formfill.Browser
		at     string
		leaves bool
	}{
		{"a wrong request", s.browser("x"), ask(id, to, wrong...), false},
		{"a silent one", s.browser("x"), ask(id, to, silent...), false},
		{"another type", s.browser("x"), ask(id, to, "response_type", "token"), false},
		{"another scheme", s.browser("x"), ask(scheme, "app.example:/back", wrong...), false},
		{"a client with a document", s.browser("x"), ask(documentAt, siteCallback, wrong...), false},
		{"a program here", s.browser("x"), ask(s.register("Here", callback), callback, wrong...), true},
		{"a wrong request, allowed before", ann, ask(id, to, wrong...), true},
		{"a silent one, allowed before", ann, ask(id, to, "prompt", "none", "scope", "read write"), true},
		{"another address of it", ann, ask(id, to+"/too", wrong...), false},
		{"a silent one, with another address", ann, ask(id, to+"/too", silent...), false},
		{"another client with that address", ann, ask(s.register("Another", to), to, silent...), false},
	} {
		p, at := ends(t, test.b, test.at)
		if (at != "") != test.leaves {
			t.Errorf("%s: %d, leaves for %q", test.name, p.Status, at)
		}
		if !test.leaves && (p.Status != http.StatusBadRequest || !strings.Contains(p.Text, "<button>Go back</button>") || !strings.Contains(p.Text, "<dl><dd>")) {
			t.Errorf("%s: %d %s", test.name, p.Status, p.Text)
		}
	}
}

func TestTheWayBackIsEscaped(t *testing.T) {
	s := newSite(t)
	id := s.register("Anything", "https://site.example/?a=1&b=%22%3E")
	p, _ := ends(t, s.browser("x"), ask(id, "https://site.example/?a=1&b=%22%3E", "code_challenge", "-", "state", `"><script>`))
	for _, want := range []string{`action="https://site.example/"`, `name="a" value="1"`, `name="b" value="&#34;&gt;"`, `name="state" value="&#34;&gt;&lt;script&gt;"`, `name="iss" value="` + issuer} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is missing in %s", want, p.Text)
		}
	}
}
