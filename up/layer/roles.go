package layer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// Roles finds the roles of callers. It does not change.
type Roles struct {
	by     map[string][]*role                  // is keyed by the entries of Who
	plan   *Plan                               // has only settings and selections
	offers map[string]func(gateway.Entry) bool // report whether a profile has an entry
}

// Roles returns the roles of callers, or nil if there are none.
func (p *Plan) Roles() *Roles { return p.roles }

// A role is a role of the settings, ready for decisions.
type role struct {
	settings.Role
	name     string
	patterns *settings.Patterns
}

// NewRoles returns the roles of checked settings, or nil if there are none.
func NewRoles(s *settings.Settings) *Roles {
	if len(s.Roles) == 0 {
		return nil
	}
	r := &Roles{map[string][]*role{}, &Plan{Settings: s}, map[string]func(gateway.Entry) bool{}}
	r.plan.readPicks()
	for name, p := range s.Profiles {
		has := r.plan.selectedIn(name)
		r.offers[name] = func(e gateway.Entry) bool {
			return (len(p.Servers) == 0 || slices.Contains(p.Servers, e.Server)) && has(e)
		}
	}
	for name, set := range s.Roles {
		one := &role{set, name, set.Patterns()}
		for _, who := range set.Who {
			r.by[who] = append(r.by[who], one)
		}
	}
	return r
}

// Of returns the roles of a caller, those without profiles first, else by name. The first that
// offers something decides about it.
func (r *Roles) Of(p *mcp.Principal) RoleSet {
	if r == nil || p == nil {
		return nil
	}
	kind := callerKind(p)
	var set RoleSet
	add := func(who string, ofIssuer bool) {
		for _, one := range r.by[who] {
			if one.Issuer == "" || !ofIssuer || oauthdoc.Same(one.Issuer, p.Issuer) {
				set = append(set, one)
			}
		}
	}
	add(settings.Everyone, true)
	add(kind+":"+p.Subject, kind == settings.UserCaller)
	for _, group := range p.Groups {
		add(settings.GroupCaller+":"+group, true)
	}
	slices.SortFunc(set, func(a, b *role) int {
		return cmp.Or(cmp.Compare(min(len(a.Profiles), 1), min(len(b.Profiles), 1)), strings.Compare(a.name, b.name))
	})
	return slices.Compact(set)
}

// callerKind returns the kind of an authenticated caller, in the words of roles. The issuer of a
// client certificate is a distinguished name, which begins with a type such as CN=.
func callerKind(p *mcp.Principal) string {
	attribute, _, isName := strings.Cut(p.Issuer, "=")
	switch {
	case p.Issuer == apikey.Issuer:
		return settings.KeyCaller
	case isName && !strings.ContainsFunc(attribute, func(r rune) bool { return r == ':' || r == '/' }):
		return settings.ClientCaller
	}
	return settings.UserCaller
}

// A RoleSet is the roles of one caller.
type RoleSet []*role

// Names returns the names of the roles.
func (s RoleSet) Names() (names []string) {
	for _, r := range s {
		names = append(names, r.name)
	}
	return names
}

// Console returns the parts of the team's page that the roles let a caller see.
func (s RoleSet) Console() (parts []string) {
	for _, r := range s {
		parts = append(parts, r.Role.Console...)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// key identifies the set among those of the same settings.
func (s RoleSet) key() string { return strings.Join(s.Names(), " ") }

// in returns the roles that reach a profile; "" is the whole gateway.
func (s RoleSet) in(profile string) RoleSet {
	if profile == "" {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), func(r *role) bool {
		return len(r.Profiles) > 0 && !slices.Contains(r.Profiles, profile)
	})
}

// Limits returns the limits of a caller with the roles: of each kind the most generous one of those
// that the roles have, or else that of byDefault.
func (s RoleSet) Limits(byDefault settings.Limits) settings.Limits {
	var best settings.Limits
	for _, r := range s {
		one := settings.Limits{Rate: r.Rate, Bytes: r.Budget}
		if one.Rate != "" && (best.Rate == "" || perSecond(one.Per()) > perSecond(best.Per())) {
			best.Rate = one.Rate
		}
		if one.Bytes != "" && (best.Bytes == "" || perSecond(one.Volume()) > perSecond(best.Volume())) {
			best.Bytes = one.Bytes
		}
	}
	return settings.Limits{Rate: cmp.Or(best.Rate, byDefault.Rate), Bytes: cmp.Or(best.Bytes, byDefault.Bytes), Concurrent: byDefault.Concurrent}
}

func perSecond(n int, in time.Duration) float64 { return float64(n) / in.Seconds() }

// Decide returns the role that lets a caller with these roles use an entry through a profile, or
// through the whole gateway if it is "". via is the profile whose rules decide: one of the role's
// own profiles, if it has some. The role is empty if none lets the caller.
func (r *Roles) Decide(set RoleSet, profile string, e gateway.Entry) (role, via string) {
	for _, one := range set.in(profile) {
		if !r.plan.picksOf(one.patterns, e) {
			continue
		}
		through := one.Profiles
		if profile != "" {
			through = []string{profile}
		}
		if len(through) == 0 {
			return one.name, ""
		}
		for _, via := range through {
			if offers := r.offers[via]; offers != nil && offers(e) {
				return one.name, via
			}
		}
	}
	return "", ""
}

// A sight is the time in which no setting changes that decides what callers see.
type sight struct {
	context.Context
	end context.CancelFunc
}

// errSight ends the subscriptions of a sight.
var errSight = errors.New("the roles changed")

// readRoles reads the roles. Without authentication no caller would have one.
func readRoles(s *Stack, p *Plan) error {
	p.sight = new(sight)
	p.sight.Context, p.sight.end = context.WithCancel(context.Background())
	if p.roles = NewRoles(p.Settings); p.roles != nil && !s.Authenticates {
		return errors.New("roles need authenticated callers: serve with --auth keys, --auth local, --auth URL or --tls-client-ca")
	}
	return nil
}

// keepSight keeps the sight, unless roles, their profiles, or the names or tags that they select by
// may have changed: callers may see less then.
func keepSight(next, before *Plan) {
	a, b := before.Settings, next.Settings
	same := a.Names == b.Names && reflect.DeepEqual(a.Roles, b.Roles) && reflect.DeepEqual(a.Profiles, b.Profiles) && reflect.DeepEqual(a.Servers, b.Servers)
	if same || len(a.Roles)+len(b.Roles) == 0 {
		next.sight = before.sight
	}
}

// inSight responds to a subscription until roles or profiles change. Clients then learn that the
// lists changed, and subscribe again.
func (p *Plan) inSight(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	seeing, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(p.sight, func() { end(errSight) })()
	result, err := next.Handle(seeing, req)
	if !errors.Is(err, errSight) {
		return result, err
	}
	var filter mcp.SubscriptionFilter
	_ = json.Unmarshal(jsonrpc.Get(req.Params, "notifications"), &filter) // next has read it
	for _, method := range filter.Lists() {
		if err := req.Peer.Notify(ctx, method, nil); err != nil {
			return result, err
		}
	}
	return result, nil
}

// A usedRole is the role by which a request uses an entry.
type usedRole struct{ atomic.Pointer[note.Granted] }

type usedRoleKey struct{}

// checkRoles refuses callers without a role for the part, and notes the roles that decide.
func checkRoles(s *Stack, p *Plan, part Part) mcp.Middleware {
	if !s.Authenticates || part.Server != "" {
		return nil
	}
	return func(inner mcp.Handler) mcp.Handler {
		next := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "subscriptions/listen" {
				return p.inSight(ctx, req, inner)
			}
			return inner.Handle(ctx, req)
		})
		if p.roles == nil {
			return next
		}
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			all := p.roles.Of(req.Principal)
			if len(all.in(part.Profile)) == 0 {
				return mcp.Result{}, refuseRole(ctx, noRole(req.Principal, all, part.Profile), nil)
			}
			used := new(usedRole)
			result, err := next.Handle(context.WithValue(ctx, usedRoleKey{}, used), req)
			result.Scope = mcp.CachePrivate // as other callers may use something else
			if err != nil && used.Load() == nil && usesEntry(req.Method) && errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
				e := mcp.ErrorOf(err)
				return result, refuseRole(ctx, fmt.Sprintf("%s; your roles: %s", e.Message, all.words()), e.Data)
			}
			return result, err
		})
	}
}

// usesEntry reports whether requests of a method use an entry that a role may lack.
func usesEntry(method string) bool {
	return method == "resources/read" || revision.MethodNamed(method).Used
}

// refuseRole notes that roles refuse a request, and returns the error for the client. data may be nil.
func refuseRole(ctx context.Context, why string, data json.RawMessage) error {
	note.Refuse(ctx, note.Role, note.Refusal{Rule: "roles", Refused: why})
	return &mcp.Error{Code: mcp.CodeInvalidParams, Message: why, Data: refused.With(data, refused.Role)}
}

// noRole returns why a caller may use nothing, and what helps.
func noRole(who *mcp.Principal, all RoleSet, profile string) string {
	if len(all) > 0 {
		return fmt.Sprintf("the profile %q is in none of your roles (%s): use another one, or ask the operator of this gateway for it", profile, all.words())
	}
	if who == nil {
		return "you are not authenticated, and have no role here: nothing may be used"
	}
	is := fmt.Sprintf("%s:%s", callerKind(who), plaintext.Line(who.Subject, maxRoleName))
	if len(who.Groups) > 0 {
		is += " of the groups " + plaintext.FirstNames(who.Groups)
	}
	return fmt.Sprintf("you have no role here, and may use nothing: ask the operator of this gateway to put you into one; you are %s", is)
}

// maxRoleName is the maximum length of a caller's name in an error.
const maxRoleName = 200

func (s RoleSet) words() string { return plaintext.FirstNames(s.Names()) }

// selectByRole restricts the gateway to what the roles of each caller offer of a part.
func (p *Plan) selectByRole(part Part) mcp.Middleware {
	return func(mcp.Handler) mcp.Handler {
		return perCaller(func(who *mcp.Principal) string { return p.roles.Of(who).key() }, func(who *mcp.Principal) mcp.Handler {
			set := p.roles.Of(who)
			own := gateway.Selection{Servers: part.settings.Servers, Closed: true}
			hides := map[string]func(gateway.Entry) bool{}
			for profile := range p.Settings.Profiles {
				hides[profile] = p.deniedIn(part.Gateway, profile)
			}
			if part.Profile == "" {
				own.Servers = p.Servers(set)
			}
			own.Keep = func(e gateway.Entry) bool {
				role, _ := p.roles.Decide(set, part.Profile, e)
				return role != ""
			}
			own.Hide = func(e gateway.Entry) bool {
				_, via := p.roles.Decide(set, part.Profile, e)
				return via != "" && hides[via](e)
			}
			own.Use = func(ctx context.Context, e gateway.Entry) {
				by := new(note.Granted)
				if by.Role, by.Profile = p.roles.Decide(set, part.Profile, e); by.Profile == part.Profile {
					by.Profile = ""
				}
				if used, _ := ctx.Value(usedRoleKey{}).(*usedRole); used != nil {
					used.Store(by)
				}
				if n := mcp.NoteObserverOf(ctx, note.Role); n != nil {
					n.Note(note.Role, *by)
				}
			}
			return part.Gateway.Only(own)
		})
	}
}

// Servers returns the servers that callers with the roles may use, as far as profiles restrict
// them; nil means all.
func (p *Plan) Servers(set RoleSet) []string {
	servers := []string{""} // no server has this name
	for _, r := range set {
		of := p.Settings.ServersOf(r.Role)
		if of == nil {
			return nil
		}
		servers = append(servers, of...)
	}
	return servers
}
