package authserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

const (
	// attemptTime is the period for counting failed logins.
	attemptTime = 15 * time.Minute
	// defaultFailedLogins is the number of failed logins in attemptTime of a user from one address,
	// or in one browser that knows the user; further logins wait. An address, and a user from all
	// addresses, have manyTimes as many.
	defaultFailedLogins = 10
	manyTimes           = 10
	// maxHashing is the number of concurrent password checks, each of which takes 19 MiB. Further
	// checks wait up to hashTime. Logins that waited for slowTime may use all but one of them.
	maxHashing = 2
	hashTime   = 10 * time.Second
	// slowTime is how long a login waits after too many failures. maxWaiting is the largest number
	// of waiting logins, and maxWaitingFrom the largest number of one site.
	slowTime       = 10 * time.Second
	maxWaiting     = 1_000
	maxWaitingFrom = 8
)

// decoy is the hash of a password of no user. Checking it makes an unknown name take as long as a
// known one.
var decoy = sync.OnceValues(func() (string, error) { return newHash("a password that nobody has") })

// errBusy reports that too many logins are in progress.
var errBusy = errors.New("too many users are logging in at the moment; try again")

// showLogin shows the login page, or redirects to the consent page if the user is logged in.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	q, sealed, err := s.pending(r)
	if err != nil {
		s.showFault(w, http.StatusBadRequest, err)
		return
	}
	_, err = s.user(r)
	switch {
	case err == nil && !slices.Contains(q.Prompt, oidc.PromptLogin):
		s.goOn(w, r, q, sealed)
	case err != nil && !errors.Is(err, ErrNoUser):
		s.fail(w, r, "find a user", err)
	case slices.Contains(q.Prompt, oidc.PromptNone):
		s.redirectUnasked(w, r, q, oidc.ErrLoginRequired().WithDescription("no user is logged in"))
	case s.options.Provider != nil:
		s.askProvider(w, r, q)
	default:
		s.showLoginForm(w, r, http.StatusOK, q, sealed, "", "")
	}
}

func (s *Server) showLoginForm(w http.ResponseWriter, r *http.Request, status int, q *request, sealed, user, fault string) {
	s.show(w, status, q.Redirect, s.loginPage(q.Home != "", s.describe(r.Context(), q), sealed, s.formToken(r, "login", q), user, fault))
}

// login handles a submitted login form.
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
	if errors.Is(err, errTooMany) || errors.Is(err, ErrNoUser) {
		reason := err.Error()
		if errors.Is(err, ErrNoUser) {
			reason = "the name or the password is wrong"
		}
		s.record(r.Context(), Event{Kind: EventLogin, Outcome: OutcomeRefused, User: name, Client: q.Client, Reason: reason})
	}
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", strconv.Itoa(int(slowTime/time.Second)))
		s.showLoginForm(w, r, http.StatusTooManyRequests, q, sealed, name, err.Error())
	case errors.Is(err, errBusy):
		s.showLoginForm(w, r, http.StatusServiceUnavailable, q, sealed, name, err.Error())
	case errors.Is(err, ErrNoUser):
		s.options.Logger.WarnContext(r.Context(), "login failed", "user", name, "address", addressOf(r))
		s.showLoginForm(w, r, http.StatusUnauthorized, q, sealed, name, "The name or the password is wrong.")
	case err != nil:
		s.fail(w, r, "check a password", err)
	default:
		s.enter(w, r, &authentication{User: u.Name, Stamp: u.stamp()}, q, sealed)
	}
}

// enter logs a user in and redirects to the next page.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, a *authentication, q *request, sealed string) {
	err := s.happened(r.Context(), Event{Kind: EventLogin, User: a.User})
	if err == nil {
		err = s.begin(w, r, a)
	}
	if err == nil {
		err = s.rememberUser(w, a.User)
	}
	if err != nil {
		s.fail(w, r, "begin a session", err)
		return
	}
	s.goOn(w, r, q, sealed)
}

// errTooMany reports that too many logins have failed.
var errTooMany = errors.New("too many failed logins: wait some seconds, and try again")

// check returns the user with a name and a password.
//
// Attempts are counted before the password is checked, so that concurrent ones count, and
// subtracted if it is right. After too many failures, logins wait for slowTime. Only one login at a
// time waits for each name and address, so that guesses from other addresses do not lock a user
// out. The passwords of these logins are checked one at a time, and sites take turns. A password
// therefore waits for at most one check of each other site, however many logins a site sends.
//
// A browser in which the user has logged in before has its own count and turns. In a new browser, a
// user and an attacker at the same address cannot be distinguished.
func (s *Server) check(r *http.Request, name, password string) (User, error) {
	if len(name) > maxUserName || len(password) > maxPassword {
		return User{}, ErrNoUser
	}
	from, now := addressOf(r), time.Now()
	w := waiter{share.Site(r.RemoteAddr), "from " + from + " " + name}
	most := s.options.FailedLogins
	// The count of the address is first: once it refuses, the address makes no further counts.
	counted := []attempt{{"login from " + from, manyTimes * most}, {"login " + from + " " + name, most}, {"login of " + name, manyTimes * most}}
	known := s.lastUserOf(r)
	if known.User == name { // all browsers of a user are one site, because each login adds another known browser
		w = waiter{"browsers of " + name, "in " + known.ID}
	}
	if known.User == name && s.take(r.Context(), now, attemptTime, attempt{"login in " + known.ID, most}) {
		counted = []attempt{{"login in " + known.ID, most}}
	} else if !s.take(r.Context(), now, attemptTime, counted...) {
		end, err := s.wait(r.Context(), w)
		if err != nil {
			return User{}, err
		}
		defer end()
		counted = nil
	}
	wrong := false
	defer func() {
		if !wrong { // the password was right, or was not checked
			s.forget(r.Context(), attemptTime, counted...)
		}
	}()
	u, err := s.options.Users.find(name)
	kept := u.Hash
	if errors.Is(err, ErrNoUser) {
		kept, err = decoy()
	}
	if err != nil {
		return User{}, err
	}
	end, err := turn(r.Context(), s.hashing, w)
	if err != nil {
		return User{}, err
	}
	defer end()
	is, err := matches(password, kept)
	if err != nil {
		return User{}, err
	}
	if wrong = !is || u.Name == ""; wrong {
		return User{}, ErrNoUser
	}
	return u, nil
}

// wait delays a login after too many failures, and then waits for its turn. The returned end frees
// its slot and its turn.
func (s *Server) wait(ctx context.Context, w waiter) (end func(), err error) {
	if !s.waiting.begin(w) {
		return nil, errTooMany
	}
	select {
	case <-time.After(slowTime):
	case <-ctx.Done():
		s.waiting.end(w)
		return nil, errBusy
	}
	done, err := turn(ctx, s.slow, w)
	if err != nil {
		s.waiting.end(w)
		return nil, err
	}
	return func() { done(); s.waiting.end(w) }, nil
}

// turn waits for a turn, at most hashTime.
func turn(ctx context.Context, turns *share.Turns, w waiter) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, hashTime)
	defer cancel()
	if done, err = turns.Wait(ctx, w.site); err != nil {
		return nil, errBusy
	}
	return done, nil
}
