package authserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/state"
)

// sessionTime is for how long a browser stays logged in.
const sessionTime = 12 * time.Hour

const sessionPrefix = "authserver/session/"

// Cookies. One names the browser, before anybody logs in; the other the session of who did.
const (
	browserCookie = "junction-browser"
	sessionCookie = "junction-session"
)

// A session is a browser in which somebody logged in.
type session struct {
	User  string `json:"user"`
	Stamp string `json:"stamp,omitempty"`
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

// begin logs a user in. The session has a new name, so that nobody knows it from before.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, u User) error {
	text, err := json.Marshal(session{u.Name, u.stamp()})
	if err != nil {
		return err
	}
	name := rand.Text()
	if _, err := s.options.Store.Put(r.Context(), sessionPrefix+hash(name), text, state.Write{TTL: sessionTime}); err != nil {
		return err
	}
	http.SetCookie(w, s.newCookie(sessionCookie, name, sessionTime))
	return nil
}

// end logs out who is logged in.
func (s *Server) end(w http.ResponseWriter, r *http.Request) error {
	http.SetCookie(w, s.newCookie(sessionCookie, "", -time.Second))
	return s.options.Store.Delete(r.Context(), sessionPrefix+hash(s.cookie(r, sessionCookie)), state.Hold{})
}

// user is who is logged in in a browser; [ErrNoUser] says that nobody is.
func (s *Server) user(r *http.Request) (User, error) {
	name := s.cookie(r, sessionCookie)
	if name == "" {
		return User{}, ErrNoUser
	}
	e, err := s.options.Store.Get(r.Context(), sessionPrefix+hash(name))
	if errors.Is(err, state.ErrNotFound) {
		return User{}, ErrNoUser
	}
	if err != nil {
		return User{}, err
	}
	var held session
	if err := json.Unmarshal(e.Value, &held); err != nil {
		return User{}, err
	}
	u, err := s.find(r.Context(), held.User)
	if err == nil && u.stamp() != held.Stamp {
		err = ErrNoUser
	}
	return u, err
}

// find returns a user by the name.
func (s *Server) find(_ context.Context, name string) (User, error) {
	if s.options.Provider != nil {
		return s.options.Provider.find(name)
	}
	return s.options.Users.find(name)
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
