package authserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

const (
	// attemptTime is in which failed logins are counted.
	attemptTime = 15 * time.Minute
	// Failed logins in attemptTime: of one user from one address, from one address, and of one user from everywhere.
	maxFailedHere   = 10
	maxFailedFrom   = 100
	maxFailedOfUser = 100
	// maxHashing is how many passwords are checked at a time; each takes 19 MiB. Others wait for hashTime.
	maxHashing = 2
	hashTime   = 10 * time.Second
)

// decoy is the hash of a password that nobody has: a name that there is not takes as long as one that there is.
var decoy = sync.OnceValues(func() (string, error) { return newHash("a password that nobody has") })

// errBusy says that too many log in at a time.
var errBusy = errors.New("too many people log in at the moment; try again")

// showLogin asks who the user is, where that is not known.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	q, sealed, err := s.pending(r)
	if err != nil {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	_, err = s.user(r)
	switch {
	case err == nil && !slices.Contains(q.Prompt, oidc.PromptLogin):
		http.Redirect(w, r, consentPath+"?request="+url.QueryEscape(sealed), http.StatusSeeOther)
	case err != nil && !errors.Is(err, ErrNoUser):
		s.fail(w, r, "find a user", err)
	case slices.Contains(q.Prompt, oidc.PromptNone):
		s.back(w, r, q, oidc.ErrLoginRequired().WithDescription("nobody is logged in"))
	case s.options.Provider != nil:
		s.askProvider(w, r, q)
	default:
		s.showLoginForm(w, r, http.StatusOK, q, sealed, "", "")
	}
}

func (s *Server) showLoginForm(w http.ResponseWriter, r *http.Request, status int, q *request, sealed, user, fault string) {
	s.show(w, status, q.Redirect, s.loginPage(s.describe(r.Context(), q), sealed, s.formToken(r, "login", q), user, fault))
}

// login takes a name and a password.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	q, sealed, err := s.pending(r)
	if err == nil {
		err = s.checkForm(r, "login", q)
	}
	if err == nil && s.options.Users == nil {
		err = errRequest
	}
	if err != nil {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	name, password := r.PostFormValue("username"), r.PostFormValue("password")
	u, err := s.check(r, name, password)
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "900")
		s.showLoginForm(w, r, http.StatusTooManyRequests, q, sealed, name, err.Error())
	case errors.Is(err, errBusy):
		s.showLoginForm(w, r, http.StatusServiceUnavailable, q, sealed, name, err.Error())
	case errors.Is(err, ErrNoUser):
		s.options.Logger.WarnContext(r.Context(), "login failed", "user", name, "address", addressOf(r))
		s.showLoginForm(w, r, http.StatusUnauthorized, q, sealed, name, "The name or the password is wrong.")
	case err != nil:
		s.fail(w, r, "check a password", err)
	default:
		s.enter(w, r, u, sealed)
	}
}

// enter logs a user in, and goes on to the consent.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, u User, sealed string) {
	if err := s.begin(w, r, u); err != nil {
		s.fail(w, r, "begin a session", err)
		return
	}
	http.Redirect(w, r, consentPath+"?request="+url.QueryEscape(sealed), http.StatusSeeOther)
}

// errTooMany says that somebody failed too often.
var errTooMany = errors.New("too many failed logins: wait a quarter of an hour, and try again")

// check returns the user of a name and a password. Attempts are counted before the password is checked, so that those
// that are sent at once count, too; one that is right does not count.
func (s *Server) check(r *http.Request, name, password string) (User, error) {
	if len(name) > maxUserName || len(password) > maxPassword {
		return User{}, ErrNoUser
	}
	from := addressOf(r)
	counted := []attempt{{"login " + from + " " + name, maxFailedHere}, {"login from " + from, maxFailedFrom}, {"login of " + name, maxFailedOfUser}}
	if !s.attempts.take(time.Now(), attemptTime, counted...) {
		return User{}, errTooMany
	}
	u, err := s.options.Users.find(name)
	kept := u.Hash
	if errors.Is(err, ErrNoUser) {
		kept, err = decoy()
	}
	if err != nil {
		return User{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), hashTime)
	defer cancel()
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return User{}, errBusy
	}
	is, err := holds(password, kept)
	if err != nil {
		return User{}, err
	}
	if !is || u.Name == "" {
		return User{}, ErrNoUser
	}
	s.attempts.forget(counted...)
	return u, nil
}
