package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/state"
)

const (
	// defaultLoginTime is the default lifetime of a login.
	defaultLoginTime = 90 * 24 * time.Hour
	// unaskedLoginTime is the largest lifetime of a login whose provider cannot confirm it later.
	unaskedLoginTime = 12 * time.Hour
	// askPause is the time between two requests to the provider about one login. Half of the
	// lifetime of an access token is used instead if it is shorter.
	askPause = time.Minute
	// askLeaseTime is how long other processes wait if a process dies during a request to the
	// provider.
	askLeaseTime = 10 * time.Second
	// maxListed is the largest number of logins read with one request to the store.
	maxListed = 1_000
)

const (
	loginPrefix  = "authserver/login/"
	loginContext = "authserver provider token"
)

// An authentication is a login of a user by password or at the provider. Browser sessions and
// grants derive from it and end with it.
type authentication struct {
	User    string    `json:"user"`
	Stamp   string    `json:"stamp,omitempty"` // changes with the user's password
	At      time.Time `json:"at"`
	Until   time.Time `json:"until"`
	Subject string    `json:"subject,omitempty"` // the provider's name for the user
	Session string    `json:"session,omitempty"` // the provider's name for the session (sid)
	Groups  []string  `json:"groups,omitempty"`  // the user's groups at the provider; without [Provider.AllGroups] only those that give scopes
	Refresh string    `json:"refresh,omitempty"` // the provider's refresh token, sealed; empty if the provider cannot be asked again
	Asked   time.Time `json:"asked,omitzero"`    // when the provider last confirmed the login
}

func (s *Server) putAuthentication(ctx context.Context, id string, old state.Version, a *authentication) (state.Version, error) {
	return s.swap(ctx, loginPrefix+hash(id), old, a, time.Until(a.Until))
}

// authentication returns a login, or [ErrNoUser] if it has ended.
func (s *Server) authentication(ctx context.Context, id string) (*authentication, state.Version, error) {
	a := new(authentication)
	version, err := s.load(ctx, loginPrefix+hash(id), a)
	if errors.Is(err, state.ErrNotFound) || err == nil && !time.Now().Before(a.Until) {
		err = ErrNoUser
	}
	return a, version, err
}

// userOf returns the user of a login while both are valid.
func (s *Server) userOf(ctx context.Context, id string) (User, error) {
	a, _, err := s.authentication(ctx, id)
	if err != nil {
		return User{}, err
	}
	var u User
	if s.options.Provider != nil {
		u, err = s.options.Provider.find(a.User, a.Groups)
	} else {
		u, err = s.options.Users.find(a.User)
	}
	if err == nil && u.stamp() != a.Stamp {
		err = ErrNoUser
	}
	u.login = id
	return u, err
}

// askAgain asks the provider whether a login is still valid. Only one process at a time asks,
// because a provider may accept a refresh token only once. If the login is not valid, askAgain
// removes it and returns [ErrNoUser].
func (s *Server) askAgain(ctx context.Context, id string) error {
	if s.options.Provider == nil {
		return nil
	}
	return state.While(ctx, s.options.Store, loginPrefix+hash(id), askLeaseTime, func(ctx context.Context, hold state.Hold) error {
		a, version, err := s.authentication(ctx, id)
		if err != nil || a.Refresh == "" || time.Since(a.Asked) < min(askPause, s.options.TokenTime/2) {
			return err
		}
		token, err := s.ring.Open(a.Refresh, []byte(loginContext))
		if err != nil {
			return ErrNoUser // the key that sealed it was retired
		}
		next, isConfirmed, err := s.options.Provider.renew(ctx, s.options.Issuer+callbackPath, confirmedUser{a.User, a.Subject, a.Session, a.Groups, string(token)})
		if errors.Is(err, ErrNoUser) {
			s.options.Logger.WarnContext(ctx, "login ended by the provider", "user", a.User, "error", err)
			fault := s.options.Store.Delete(ctx, loginPrefix+hash(id), hold)
			if fault == nil {
				s.record(ctx, Event{Kind: EventLogout, User: a.User, Name: "1", Reason: err.Error()})
			}
			s.ended(ctx)
			return errors.Join(err, fault)
		}
		if err != nil {
			return err
		}
		a.Groups, a.Asked = next.groups, time.Now()
		if limit := a.At.Add(unaskedLoginTime); !isConfirmed && len(a.Groups) > 0 && limit.Before(a.Until) {
			a.Until = limit // the groups give scopes and the provider did not confirm them
		}
		if next.refresh != "" {
			a.Refresh = s.ring.Seal([]byte(next.refresh), []byte(loginContext))
		}
		if _, err = s.putAuthentication(ctx, id, version, a); errors.Is(err, state.ErrConflict) {
			err = ErrNoUser // the login was ended in the meantime
		}
		return err
	})
}

// A Login is a valid login of a user.
type Login struct {
	User  string
	At    time.Time // time when the user logged in
	Until time.Time // time when the login expires
}

// Logins returns all valid logins in the store of a Server.
func Logins(ctx context.Context, store state.Store) (all []Login, err error) {
	err = eachLogin(ctx, store, func(_ string, a *authentication) error {
		all = append(all, Login{a.User, a.At, a.Until})
		return nil
	})
	return all, err
}

// SharedLogins is the subject of [replicas.Group.Follow] for logins that ended.
const SharedLogins = "authserver/logins"

// Logout ends all logins of a user in the store of a Server and returns their number. Access tokens
// derived from them are refused within 10 seconds.
func Logout(ctx context.Context, store state.Store, user string) (ended int, err error) {
	err = eachLogin(ctx, store, func(key string, a *authentication) error {
		if a.User != user {
			return nil
		}
		ended++
		return store.Delete(ctx, key, state.Hold{})
	})
	return ended, err
}

func eachLogin(ctx context.Context, store state.Store, do func(key string, a *authentication) error) error {
	for after := ""; ; {
		entries, err := store.List(ctx, loginPrefix, after, maxListed)
		if err != nil {
			return err
		}
		for _, e := range entries {
			a := new(authentication)
			if err := json.Unmarshal(e.Value, a); err != nil {
				return fmt.Errorf("a stored login cannot be read: %w", err)
			}
			if err := do(e.Key, a); err != nil {
				return err
			}
			after = e.Key
		}
		if len(entries) < maxListed {
			return nil
		}
	}
}
