package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

const (
	teamPath       = "/team"        // path of the team's page
	tokenHeader    = "X-Form-Token" // has the form token of requests with effects
	maxTeamLines   = 200            // largest number of lines of the audit log on the page
	teamLinesTime  = 24 * time.Hour // age of these lines
	teamReadTime   = 20 * time.Second
	maxOwnKeys     = 20
	ownKeyTime     = 90 * 24 * time.Hour // lifetime of a key that a caller makes
	maxLoginsShown = 1_000
)

// A team serves the page of the gateway's callers, who log in with --auth local.
type team struct {
	*Served
	logins  *authserver.Server
	reading *share.Turns // turns to read the audit log
	making  sync.Mutex   // held while a key is made, so that maxOwnKeys holds
}

// A member is a caller who is logged in in a browser.
type member struct {
	*mcp.Principal
	roles layer.RoleSet
	sees  []string // parts of the page, as in settings.Role.Console
}

// newTeam returns the handler of the page, or nil without --auth local.
func (v *Served) newTeam() http.Handler {
	if v.access == nil || v.access.local == nil {
		return nil
	}
	t := &team{Served: v, logins: v.access.local, reading: share.NewTurns(1)}
	mux := http.NewServeMux()
	api := func(method, path string, f func(r *http.Request, m *member) (any, error)) {
		mux.Handle(method+" "+teamPath+"/api/"+path, reply.With(func(r *http.Request) (any, error) {
			m, err := t.member(r)
			if err != nil {
				return nil, err
			}
			return f(r, m)
		}))
	}
	api("GET", "me", t.me)
	api("GET", "calls", t.calls)
	api("GET", "servers", t.servers)
	api("GET", "users", t.users)
	api("GET", "keys", t.keys)
	api("POST", "keys", t.makeKey)
	api("DELETE", "keys/{id}", t.removeKey)
	v.serveApprovals(func(pattern string, h http.Handler) { mux.Handle(pattern, h) }, teamPath+"/api", func(r *http.Request) (approvals.Approver, error) {
		m, err := t.member(r)
		if err != nil {
			return approvals.Approver{}, err
		}
		return approvals.Approver{Name: m.Subject, Subject: m.Subject, Roles: m.roles.Names()}, nil
	})
	mux.HandleFunc("POST "+teamPath+"/api/logout", func(w http.ResponseWriter, r *http.Request) {
		if _, err := t.member(r); err != nil {
			reply.Error(w, http.StatusInternalServerError, err)
			return
		}
		if err := t.logins.LogOut(w, r); err != nil {
			reply.Error(w, http.StatusInternalServerError, t.hidden(err))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply.Error(w, http.StatusNotFound, errors.New("the page of the team has no such part"))
	})
	hosts := slices.Clone(v.Options.Hosts)
	for _, origin := range v.access.Origins {
		if u, err := url.Parse(origin); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	return Guarded(t.entrance(console.Team(teamPath, mux)), rebinding.Guard{Hosts: hosts})
}

// entrance sends browsers without a login to the login page, and limits bodies. The page is at one
// origin only, as cookies are, and the provider returns there.
func (t *team) entrance(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxVerdict)
		if r.URL.Path != teamPath || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		if u, err := url.Parse(t.access.Origins[0]); err == nil && !strings.EqualFold(r.Host, u.Host) {
			http.Redirect(w, r, t.teamURL(), http.StatusSeeOther)
			return
		}
		switch _, err := t.logins.Caller(r); {
		case errors.Is(err, authserver.ErrNoUser):
			t.logins.LogIn(w, r, teamPath)
		case err != nil:
			http.Error(w, t.hidden(err).Error(), http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// hidden logs an error and returns one without details, which may name files.
func (t *team) hidden(err error) error {
	t.App.Logger().Warn("junction: a request of the team's page failed", "error", err)
	return errors.New("this does not work at the moment; the log of junction says why")
}

// member returns the caller who is logged in in a browser. Requests with effects must have the form
// token of the session.
func (t *team) member(r *http.Request) (*member, error) {
	p, err := t.logins.Caller(r)
	if errors.Is(err, authserver.ErrNoUser) {
		return nil, reply.Refuse(http.StatusUnauthorized, "log in first")
	}
	if err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(err))
	}
	if r.Method != http.MethodGet {
		if err := t.logins.CheckFormToken(r, r.Header.Get(tokenHeader)); err != nil {
			return nil, reply.Refuse(http.StatusForbidden, "%v", err)
		}
	}
	m := &member{Principal: p}
	roles := t.Gateway.Layers().Plan().Roles()
	if roles == nil { // every caller may use all servers
		m.sees = []string{settings.ConsoleServers}
		return m, nil
	}
	m.roles = roles.Of(p)
	if m.sees = m.roles.Console(); t.access.Keys == nil { // keys would let their owners do nothing
		m.sees = slices.DeleteFunc(m.sees, func(part string) bool { return part == settings.ConsoleKeys })
	}
	return m, nil
}

// needs returns an error unless the member sees a part of the page.
func (m *member) needs(part string) error {
	if !slices.Contains(m.sees, part) {
		return reply.Refuse(http.StatusForbidden, "none of your roles has %q in its member console", part)
	}
	return nil
}

// me describes the member.
func (t *team) me(r *http.Request, m *member) (any, error) {
	return struct {
		Name  string   `json:"name"`
		Roles []string `json:"roles"`
		Sees  []string `json:"sees"`
		Log   bool     `json:"log"`       // whether calls are logged
		Needs bool     `json:"needsRole"` // whether the member has none, and needs one
		Token string   `json:"token"`
	}{m.Subject, append([]string{}, m.roles.Names()...), append([]string{}, m.sees...), t.Gateway.Layers().Log != nil, len(m.roles) == 0 && t.Gateway.Layers().Plan().Roles() != nil, t.logins.FormToken(r)}, nil
}

// servers lists the servers that the member may use, without details of their faults.
func (t *team) servers(_ *http.Request, m *member) (any, error) {
	if err := m.needs(settings.ConsoleServers); err != nil {
		return nil, err
	}
	type server struct {
		Name      string `json:"name"`
		State     string `json:"state"`
		Failing   bool   `json:"failing"`
		Tools     int    `json:"tools"`
		Prompts   int    `json:"prompts"`
		Resources int    `json:"resources"`
	}
	var may []string
	if len(m.roles) > 0 {
		may = t.Gateway.Layers().Plan().Servers(m.roles)
	}
	all := []server{}
	for _, s := range t.Gateway.Members().Status() {
		if may == nil || slices.Contains(may, s.Name) {
			all = append(all, server{s.Name, s.State.String(), IsFailing(s), s.Tools, s.Prompts, s.Resources})
		}
	}
	return map[string]any{"servers": all}, nil
}

// calls lists calls of the last day in the audit log, newest first: the member's own ones or, with
// the parameter all, those of all callers.
func (t *team) calls(r *http.Request, m *member) (any, error) {
	if t.Gateway.Layers().Log == nil {
		return nil, reply.Refuse(http.StatusNotFound, "calls are not logged here")
	}
	f := audit.Filter{Kind: audit.KindCall, Since: time.Now().Add(-teamLinesTime)}
	if r.URL.Query().Has("all") {
		if err := m.needs(settings.ConsoleAudit); err != nil {
			return nil, err
		}
	} else {
		f.Principal = m.Subject
	}
	ctx, cancel := context.WithTimeout(r.Context(), teamReadTime)
	defer cancel()
	done, err := t.reading.Wait(ctx, m.Subject)
	if err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "the log is being read for others; try again")
	}
	defer done()
	lines := []json.RawMessage{}
	for line, err := range audit.Read(t.Gateway.Layers().Folder, f) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(err))
		}
		if f.Principal != "" && !m.owns(line) {
			continue
		}
		if lines = append(lines, line); len(lines) > maxTeamLines {
			lines = lines[1:]
		}
	}
	slices.Reverse(lines)
	return map[string]any{"calls": lines}, nil
}

// owns reports whether a line is about a call of the member: with this login, or with a key of the
// same name. Another issuer may have another user of that name.
func (m *member) owns(line json.RawMessage) bool {
	issuer, _ := jsonrpc.Unquote(jsonrpc.Get(line, "issuer"))
	return issuer == m.Issuer || issuer == apikey.Issuer
}

// users lists the users who are logged in.
func (t *team) users(r *http.Request, m *member) (any, error) {
	if err := m.needs(settings.ConsoleLogins); err != nil {
		return nil, err
	}
	all, err := t.logins.Logins(r.Context())
	if err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(err))
	}
	slices.SortFunc(all, func(a, b authserver.Login) int { return b.At.Compare(a.At) })
	type login struct {
		User  string    `json:"user"`
		Since time.Time `json:"since"`
		Until time.Time `json:"until"`
	}
	shown := []login{}
	for _, l := range all[:min(len(all), maxLoginsShown)] {
		shown = append(shown, login{l.User, l.At, l.Until})
	}
	return map[string]any{"logins": shown}, nil
}

// A keyShown is a key without its secret.
type keyShown struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"`
}

// own returns the keys of the member.
func (t *team) own(m *member) (own []keyShown, err error) {
	if err := m.needs(settings.ConsoleKeys); err != nil {
		return nil, err
	}
	list, err := t.access.keys.All()
	if err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(err))
	}
	own = []keyShown{}
	for _, k := range list {
		if k.User == m.Subject {
			own = append(own, keyShown{k.ID, k.Created, k.Expires, k.Scopes})
		}
	}
	return own, nil
}

func (t *team) keys(_ *http.Request, m *member) (any, error) {
	own, err := t.own(m)
	return map[string]any{"keys": own}, err
}

// makeKey makes a key with the scopes of the member. The key must not let its holder do more than
// the member may do: roles can name key:NAME alone.
func (t *team) makeKey(r *http.Request, m *member) (any, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	t.making.Lock()
	defer t.making.Unlock()
	own, err := t.own(m)
	if err != nil {
		return nil, err
	}
	if len(own) >= maxOwnKeys {
		return nil, reply.Refuse(http.StatusConflict, "you have %d keys: remove one first", len(own))
	}
	mine := m.roles.Names()
	for _, name := range t.Gateway.Layers().Plan().Roles().Of(&mcp.Principal{Subject: m.Subject, Issuer: apikey.Issuer}).Names() {
		if !slices.Contains(mine, name) {
			return nil, reply.Refuse(http.StatusForbidden, "a key would have the role %q, which your login does not have: ask the operator of this gateway for a key", name)
		}
	}
	key, kept, err := t.access.keys.Make(r.Context(), apikey.Key{User: m.Subject, Scopes: m.Scopes, Purpose: "made at " + teamPath, Expires: time.Now().Add(ownKeyTime)})
	if err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(err))
	}
	if err := t.record(audit.EventKeyCreate, m, kept.ID); err != nil {
		_, fault := t.access.keys.Revoke(context.WithoutCancel(r.Context()), kept.ID)
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(errors.Join(err, fault)))
	}
	t.App.Logger().Info("junction: a caller made a key", "user", m.Subject, "key", kept.ID)
	return struct {
		Key string `json:"key"` // shown once
		keyShown
	}{key, keyShown{kept.ID, kept.Created, kept.Expires, kept.Scopes}}, nil
}

// record writes a line about a key of the member to the audit log, if there is one.
func (t *team) record(event string, m *member, id string) error {
	log := t.auditLog()
	if log == nil {
		return nil
	}
	return log.Admin(&audit.Record{Event: event, Operator: m.Subject + ", on the page of the team", Principal: m.Subject, Name: id})
}

func (t *team) removeKey(r *http.Request, m *member) (any, error) {
	own, err := t.own(m)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if !slices.ContainsFunc(own, func(k keyShown) bool { return k.ID == id }) {
		return nil, reply.Refuse(http.StatusNotFound, "you have no key %.40q", id)
	}
	if _, err := t.access.keys.Revoke(r.Context(), id); err != nil {
		return nil, reply.Refuse(http.StatusServiceUnavailable, "%v", t.hidden(fmt.Errorf("remove the key %s: %w", id, err)))
	}
	_ = t.record(audit.EventKeyRemove, m, id) // the log reports why it cannot be written
	t.App.Logger().Info("junction: a caller removed a key", "user", m.Subject, "key", id)
	return nil, nil
}
