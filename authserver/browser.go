package authserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

// homeForm is the name of the form token of pages that are not part of a client's request.
const homeForm = "home"

// LogIn sends a browser to the login page. After the login, the browser returns to a path of this
// origin. It is for pages of the protected resource, which need no client and no consent.
func (s *Server) LogIn(w http.ResponseWriter, r *http.Request, path string) {
	browser := s.cookie(r, browserCookie)
	if browser == "" {
		browser = rand.Text()
		http.SetCookie(w, s.newCookie(browserCookie, browser, 0))
	}
	sealed, err := s.seal(request{ID: rand.Text(), Home: path, Browser: hash(browser), Until: time.Now().Add(requestTime)}, requestContext)
	if err != nil {
		s.fail(w, r, "begin a login", err)
		return
	}
	http.Redirect(w, r, loginPath+"?request="+url.QueryEscape(sealed), http.StatusSeeOther)
}

// goOn redirects a browser whose user is logged in: to the consent page, or to the path of LogIn.
func (s *Server) goOn(w http.ResponseWriter, r *http.Request, q *request, sealed string) {
	to := consentPath + "?request=" + url.QueryEscape(sealed)
	if q.Home != "" {
		to = q.Home
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// Caller returns the user who is logged in in a browser, with all scopes of the user, or
// [ErrNoUser]. A provider is asked again whether the login is valid, at most once a minute.
func (s *Server) Caller(r *http.Request) (*mcp.Principal, error) {
	u, err := s.user(r)
	if err == nil {
		err = s.askAgain(r.Context(), u.login)
	}
	if err == nil {
		u, err = s.userOf(r.Context(), u.login) // the provider may have changed the groups
	}
	if err != nil {
		return nil, err
	}
	return &mcp.Principal{Subject: u.Name, Issuer: s.options.Issuer, Scopes: u.Scopes, Groups: u.groups}, nil
}

// FormToken returns the token that a request of a page with effects must contain. It depends on the
// session, and pages of other sites cannot know it.
func (s *Server) FormToken(r *http.Request) string { return s.formToken(r, homeForm, new(request)) }

// CheckFormToken returns an error unless a request with effects comes from a page that got the token
// in this session.
func (s *Server) CheckFormToken(r *http.Request, token string) error {
	if http.NewCrossOriginProtection().Check(r) != nil || !hmac.Equal([]byte(token), []byte(s.FormToken(r))) {
		return errForged
	}
	return nil
}

// LogOut ends the session of a browser. Programs that its user allowed keep their logins.
func (s *Server) LogOut(w http.ResponseWriter, r *http.Request) error {
	err := s.options.Store.Delete(r.Context(), sessionPrefix+hash(s.cookie(r, sessionCookie)), state.Hold{})
	http.SetCookie(w, s.newCookie(sessionCookie, "", -time.Second))
	return err
}

// Logins returns all valid logins.
func (s *Server) Logins(ctx context.Context) ([]Login, error) { return Logins(ctx, s.options.Store) }
