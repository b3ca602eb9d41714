package authserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

const (
	knownContext  = "authserver known browser"
	allowedPrefix = "authserver/allowed/"
	maxKnown      = 1 << 10 // largest size of the cookie in bytes
)

// A lastUser is the content of a cookie that names the last user of a browser.
type lastUser struct {
	User string `json:"user"`
	ID   string `json:"id"`
}

// rememberUser sets the cookie that records the user of a browser.
func (s *Server) rememberUser(w http.ResponseWriter, user string) error {
	sealed, err := s.seal(lastUser{user, rand.Text()}, knownContext)
	if err == nil {
		http.SetCookie(w, s.newCookie(knownCookie, sealed, consentTime))
	}
	return err
}

// lastUserOf returns the cookie's content: the user who last logged in in this browser. Its User is
// empty if there is no valid cookie.
func (s *Server) lastUserOf(r *http.Request) (k lastUser) {
	c, err := r.Cookie(s.cookieName(knownCookie))
	if err != nil || len(c.Value) > maxKnown {
		return k
	}
	if s.open(c.Value, knownContext, &k) != nil {
		return lastUser{}
	}
	return k
}

// allowedKey returns the store's key for a user's permission that a client may use a redirect URI.
func allowedKey(user, client, redirect string) string {
	text, _ := json.Marshal([]string{user, client, redirect})
	return allowedPrefix + hash(string(text))
}

// mayRedirect reports whether the browser may be redirected before its user was asked. Anyone can
// register a client with any redirect URI, so a link to this server could otherwise lead anywhere
// (RFC 9700 section 4.11.2). The redirect URI must be on this machine, or one that this user has
// allowed for this client.
func (s *Server) mayRedirect(r *http.Request, client, redirect string) bool {
	if u, err := url.Parse(redirect); err == nil && u.Scheme == "http" && outside.IsHere(u.Hostname()) {
		return true
	}
	user := s.lastUserOf(r).User
	if u, err := s.user(r); err == nil {
		user = u.Name
	}
	if user == "" {
		return false
	}
	_, err := s.options.Store.Get(r.Context(), allowedKey(user, client, redirect))
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		s.options.Logger.ErrorContext(r.Context(), "authorization server: find where a user goes back to", "error", err)
	}
	return err == nil
}

// redirectUnasked redirects the browser to the client with an error before the user was asked. If
// the redirect is not allowed, it shows a page.
func (s *Server) redirectUnasked(w http.ResponseWriter, r *http.Request, q *request, fault *oidc.Error) {
	fault.State = q.State
	to, err := s.backURL(q.Redirect, fault)
	switch {
	case err != nil:
		s.fail(w, r, "go back to a client", err)
	case s.mayRedirect(r, q.Client, q.Redirect):
		http.Redirect(w, r, to, http.StatusSeeOther)
	default:
		s.showReturn(w, to)
	}
}

// A staying writer holds back a redirect of package op to another server, so that
// [Server.authorize] can decide about it.
type staying struct {
	http.ResponseWriter
	away string // address of the redirect; empty without one
}

// WriteHeader implements [http.ResponseWriter].
func (w *staying) WriteHeader(status int) {
	if to := w.Header().Get("Location"); to != "" && !strings.HasPrefix(to, loginPath+"?") {
		w.away = to
		w.Header().Del("Location")
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *staying) Write(text []byte) (int, error) {
	if w.away != "" {
		return len(text), nil
	}
	return w.ResponseWriter.Write(text)
}

// authorize handles a client's request for a code. It redirects to the client with an error only if
// mayRedirect allows that.
func (s *Server) authorize(protocol http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &staying{ResponseWriter: w}
		protocol.ServeHTTP(kept, r)
		switch {
		case kept.away == "":
		case s.mayRedirect(r, r.FormValue("client_id"), r.FormValue("redirect_uri")):
			http.Redirect(w, r, kept.away, http.StatusFound)
		default:
			s.showReturn(w, kept.away)
		}
	})
}
