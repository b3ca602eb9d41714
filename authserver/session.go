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

// sessionTime is for how long a browser stays logged in.
const sessionTime = 12 * time.Hour

const sessionPrefix = "authserver/session/"

// Cookies. One names the browser, before anybody logs in; another the session of who did, and the last who logged in before.
const (
	browserCookie = "junction-browser"
	sessionCookie = "junction-session"
	knownCookie   = "junction-known"
)

// A session is a browser in which somebody logged in.
type session struct {
	Login string `json:"login"`
}

// cookieName is the name that a cookie has: over https, one that only this very host can set. Browsers share cookies
// between the ports of a host, so the port is in the name.
func (s *Server) cookieName(name string) string {
	if port := s.issuer.Port(); port != "" {
		name += "-" + port
	}
	if s.issuer.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

// cookie is what a browser has kept; empty: nothing.
func (s *Server) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil || len(c.Value) > maxUserName {
		return ""
	}
	return c.Value
}

// newCookie has a browser keep something, as long as it runs where life is 0.
func (s *Server) newCookie(name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, Secure: s.issuer.Scheme == "https", SameSite: http.SameSiteLaxMode}
}

// begin logs a user in: it keeps the login, and a session that follows from it, whose name is new, so that it was not known before.
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

// user returns the user who is logged in in a browser; [ErrNoUser] says that there is none.
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

// formToken is what a form must hold to be sent by this browser, for this request: a page elsewhere cannot know it.
func (s *Server) formToken(r *http.Request, form string, q *request) string {
	return base64.RawURLEncoding.EncodeToString(s.mac(s.secret, form, s.cookie(r, browserCookie), s.cookie(r, sessionCookie), q.ID))
}

// errForged says that a form did not come from a page of this server.
var errForged = errors.New("the form did not come from the page that this server showed: go back, and try again")

// checkForm checks that a form was sent from the page that this server showed in this browser.
func (s *Server) checkForm(r *http.Request, form string, q *request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return errForged
	}
	if !hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(s.formToken(r, form, q))) {
		return errForged
	}
	return nil
}
