package authserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/formfill"
)

// homePath is the path of a page that needs a login.
const homePath = "/home"

// atHome returns a browser at a page that needs a login, and what sends its requests there.
func atHome(s *site) *formfill.Browser {
	return formfill.New(map[string]string{"username": "ann", "password": password}, roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != homePath {
			return s.RoundTrip(r)
		}
		w := httptest.NewRecorder()
		if p, err := s.Caller(r); errors.Is(err, ErrNoUser) {
			s.LogIn(w, r, homePath)
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		} else if r.Method == http.MethodPost && s.CheckFormToken(r, r.URL.Query().Get("token")) != nil {
			http.Error(w, "forged", http.StatusForbidden)
		} else if r.URL.Query().Has("leave") {
			if err := s.LogOut(w, r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		} else {
			_, _ = w.WriteString(p.Subject + " of " + p.Issuer + " with " + strings.Join(p.Scopes, " ") + " token " + s.FormToken(r))
		}
		response := w.Result()
		response.Request = r
		return response, nil
	}))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A page of the resource has the same login as programs, without a client and a consent.
func TestAPageLogsItsUserIn(t *testing.T) {
	s := newSite(t)
	b := atHome(s)
	page, err := b.Get(t.Context(), issuer+homePath)
	if err != nil || page.Status != http.StatusSeeOther {
		t.Fatalf("%+v, %v", page, err)
	}
	login := page.Header.Get("Location")
	if page, err = b.Get(t.Context(), issuer+login); err != nil || !strings.Contains(page.Text, "The page shows what you may use here.") {
		t.Fatalf("%+v, %v", page, err)
	}
	// Neither another browser nor the consent page takes the request.
	if other, err := atHome(s).Get(t.Context(), issuer+login); err != nil || other.Status != http.StatusBadRequest {
		t.Errorf("another browser: %+v, %v", other, err)
	}
	if page, err = b.Send(t.Context(), page.Action, b.Fill(page)); err != nil || page.Header.Get("Location") != homePath {
		t.Fatalf("%+v, %v", page, err)
	}
	if consent, err := b.Get(t.Context(), issuer+strings.Replace(login, loginPath, consentPath, 1)); err != nil || consent.Status != http.StatusBadRequest {
		t.Errorf("its consent: %+v, %v", consent, err)
	}
	if page, err = b.Get(t.Context(), issuer+homePath); err != nil || !strings.HasPrefix(page.Text, "ann of "+issuer+" with read write token ") {
		t.Fatalf("%+v, %v", page, err)
	}
	_, token, _ := strings.Cut(page.Text, " token ")
	if again, err := b.Get(t.Context(), issuer+login); err != nil || again.Header.Get("Location") != homePath {
		t.Errorf("the login page again: %+v, %v", again, err)
	}
	for given, want := range map[string]int{token: http.StatusOK, "": http.StatusForbidden, token + "x": http.StatusForbidden} {
		if sent, err := b.Send(t.Context(), issuer+homePath+"?token="+given, nil); err != nil || sent.Status != want {
			t.Errorf("with the token %q: %+v, %v", given, sent, err)
		}
	}
	if _, err := b.Get(t.Context(), issuer+homePath+"?leave"); err != nil {
		t.Fatal(err)
	}
	if page, err = b.Get(t.Context(), issuer+homePath); err != nil || page.Status != http.StatusSeeOther {
		t.Errorf("after it logged out: %+v, %v", page, err)
	}
}

// A login that ends takes the session with it.
func TestTheSessionOfAPageEndsWithItsLogin(t *testing.T) {
	s := newSite(t)
	b := atHome(s)
	page, err := b.Get(t.Context(), issuer+homePath)
	if err == nil {
		page, err = b.Get(t.Context(), issuer+page.Header.Get("Location"))
	}
	if err == nil {
		_, err = b.Send(t.Context(), page.Action, b.Fill(page))
	}
	if err != nil {
		t.Fatal(err)
	}
	if page, err = b.Get(t.Context(), issuer+homePath); err != nil || page.Status != http.StatusOK {
		t.Fatalf("%+v, %v", page, err)
	}
	if ended, err := Logout(t.Context(), s.store, "ann"); err != nil || ended != 1 {
		t.Fatal(ended, err)
	}
	if page, err = b.Get(t.Context(), issuer+homePath); err != nil || page.Status != http.StatusSeeOther {
		t.Errorf("%+v, %v", page, err)
	}
}
