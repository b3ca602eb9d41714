package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/granted"
)

// A Grantee is whom credentials were given to: a user, by one client, with some scopes. It is comparable; the scopes are in one
// form, whatever their order was. What one grantee may do another of the same user may not.
type Grantee struct {
	Issuer, Subject, ClientID string
	Scopes                    string // sorted, each once, with a space between two
}

// Grantee returns whom the principal's credentials were given to; the zero Grantee for nil.
func (p *Principal) Grantee() Grantee {
	if p == nil {
		return Grantee{}
	}
	scopes := p.Scopes
	if !slices.IsSorted(scopes) {
		scopes = slices.Sorted(slices.Values(scopes))
	}
	return Grantee{p.Issuer, p.Subject, p.ClientID, strings.Join(slices.Compact(slices.Clone(scopes)), " ")}
}

// IsOf reports whether both are the same client of the same user, whatever their scopes; nil is one whom nobody authenticated.
func (p *Principal) IsOf(other *Principal) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Issuer == other.Issuer && p.Subject == other.Subject && p.ClientID == other.ClientID
}

// Lacks returns those scopes that the principal does not have.
func (p *Principal) Lacks(scopes []string) (missing []string) {
	for _, scope := range scopes {
		if p == nil || !slices.Contains(p.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// ErrNotGranted is the error of [Grant.Allows] where something is another's: to them it is to look as if it were not there.
var ErrNotGranted = errors.New("it is kept for somebody else")

// A Grant is the authorization of something that is kept when its request is over: a task, a long result. It is kept with that, and
// decides who may touch it ([Grant.Allows]).
type Grant struct {
	Owner *Principal `json:"owner,omitempty"` // nil: nobody authenticated
	Part  string     `json:"part,omitempty"`  // of a gateway, that the request came through
	Tool  string     `json:"tool,omitempty"`  // that it called, by the name that scopes are decided by
	Needs []string   `json:"needs,omitempty"` // scopes that the tool needed
	// Decided: some middleware decided which scopes the tool needs, and Needs are those. Otherwise all that the owner had are
	// needed.
	Decided bool `json:"decided,omitempty"`
}

// GrantOf returns the Grant of what is kept for a request.
func GrantOf(ctx context.Context, req *Request) Grant {
	g := Grant{Owner: req.Principal, Part: granted.Part(ctx)}
	g.Tool, g.Needs, g.Decided = granted.Decided(ctx)
	return g
}

// Allows reports whether who sends the request with the context ctx may touch what is kept: the same client of the same user, through the
// same part of a gateway, with the scopes that the tool needed then and needs now. The error is [ErrNotGranted], or a [*ScopeError]
// where scopes are missing.
func (g *Grant) Allows(ctx context.Context, who *Principal) error {
	if !g.Owner.IsOf(who) || g.Part != granted.Part(ctx) {
		return ErrNotGranted
	}
	needs := g.Needs
	if !g.Decided && g.Owner != nil {
		needs = g.Owner.Scopes
	}
	if now := granted.Needs(ctx, g.Tool); len(now) > 0 {
		needs = append(slices.Clone(needs), now...)
	}
	if len(who.Lacks(needs)) > 0 {
		return &ScopeError{Needs: needs}
	}
	return nil
}
