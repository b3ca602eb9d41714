package authserver

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/state"
)

// sessionTime is how long a browser stays logged in.
const sessionTime = 12 * time.Hour

const sessionPrefix = "authserver/session/"

// Names of cookies: for a browser before its user logs in, for its session, and for the last user
// who logged in.
const (
	browserCookie = "junction-browser"
	sessionCookie = "junction-session"
	knownCookie   = "junction-known"
)

// A session is a browser with a logged-in user.
type session struct {
	Login string `json:"login"`
}

// cookieName returns the full name of a cookie. Over https it has the prefix __Host-, which keeps
// other hosts from setting the cookie. The name includes the port, because browsers share cookies
// between the ports of a host.
func (s *Server) cookieName(name string) string {
	if port := s.issuer.Port(); port != "" {
		name += "-" + port
	}
	if s.issuer.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

// cookie returns the value of a cookie, or "".
func (s *Server) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil || len(c.Value) > maxUserName {
		return ""
	}
	return c.Value
}

// newCookie returns a cookie with a lifetime. With a life of 0 the cookie lasts until the browser
// closes.
func (s *Server) newCookie(name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, Secure: s.issuer.Scheme == "https", SameSite: http.SameSiteLaxMode}
}

// begin logs a user in. It stores the login and a session with a new random name, which an attacker
// cannot have set before.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, a *authentication) error {
	life := cmp.Or(s.options.LoginTime, defaultLoginTime)
	if s.options.Provider != nil && a.Refresh == "" {
		life = min(life, unaskedLoginTime)
	}
	a.At = time.Now()
	a.Until, a.Asked = a.At.Add(life), a.At
	id := rand.Text()
	if _, err := s.putAuthentication(r.Context(), id, "", a); err != nil {
		return err
	}
	name := rand.Text()
	if _, err := s.swap(r.Context(), sessionPrefix+hash(name), "", session{id}, sessionTime); err != nil {
		return err
	}
	http.SetCookie(w, s.newCookie(sessionCookie, name, sessionTime))
	return nil
}

// user returns the user who is logged in in this browser, or [ErrNoUser].
func (s *Server) user(r *http.Request) (User, error) {
	name := s.cookie(r, sessionCookie)
	if name == "" {
		return User{}, ErrNoUser
	}
	var held session
	_, err := s.load(r.Context(), sessionPrefix+hash(name), &held)
	if errors.Is(err, state.ErrNotFound) {
		return User{}, ErrNoUser
	}
	if err != nil {
		return User{}, err
	}
	return s.userOf(r.Context(), held.Login)
}

// formToken returns the token that a form must contain. It depends on the browser and the request,
// and pages of other sites cannot know it.
func (s *Server) formToken(r *http.Request, form string, q *request) string {
	return base64.RawURLEncoding.EncodeToString(s.mac(s.secret, form, s.cookie(r, browserCookie), s.cookie(r, sessionCookie), q.ID))
}

// errForged reports that a form does not come from a page of this server.
var errForged = errors.New("the form is not from a page of this server: go back, and try again")

// checkForm checks that a form comes from the page that this server showed in this browser.
func (s *Server) checkForm(r *http.Request, form string, q *request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return errForged
	}
	if !hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(s.formToken(r, form, q))) {
		return errForged
	}
	return nil
}
