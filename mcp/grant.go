package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/granted"
)

// A Grantee identifies the holder of credentials: a user, acting through one client, with some
// scopes. It is comparable; scopes are normalized, so their order does not matter. Different
// grantees of the same user may have different permissions.
type Grantee struct {
	Issuer, Subject, ClientID string
	Scopes                    string // sorted, without duplicates, separated by single spaces
}

// Grantee returns the holder of the principal's credentials. It returns the zero Grantee for nil.
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

// IsOf reports whether both are the same client of the same user, whatever their scopes. A nil
// Principal is an unauthenticated caller.
func (p *Principal) IsOf(other *Principal) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Issuer == other.Issuer && p.Subject == other.Subject && p.ClientID == other.ClientID
}

// Lacks returns those of the scopes that the principal does not have.
func (p *Principal) Lacks(scopes []string) (missing []string) {
	for _, scope := range scopes {
		if p == nil || !slices.Contains(p.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// ErrNotGranted is the error of [Grant.Allows] for something that belongs to another caller.
// Respond as if it did not exist.
var ErrNotGranted = errors.New("it belongs to another caller")

// A Grant is the authorization of something that outlives its request: a task or a long result. It
// is stored with that, and [Grant.Allows] decides who may access it.
type Grant struct {
	Owner *Principal `json:"owner,omitempty"` // nil if unauthenticated
	Part  string     `json:"part,omitempty"`  // part of a gateway that the request came through
	Tool  string     `json:"tool,omitempty"`  // called tool, by the name that decides its scopes
	Needs []string   `json:"needs,omitempty"` // scopes that the tool needed
	// Decided reports whether middleware decided which scopes the tool needs; these are Needs.
	// Otherwise all scopes of the owner are needed.
	Decided bool `json:"decided,omitempty"`
}

// GrantOf returns the Grant of something that is stored for a request.
func GrantOf(ctx context.Context, req *Request) Grant {
	g := Grant{Owner: req.Principal, Part: granted.Part(ctx)}
	g.Tool, g.Needs, g.Decided = granted.Decided(ctx)
	return g
}

// Allows checks whether who may access what was stored with the Grant. ctx is the context of the
// request that who sends. It must be the same client of the same user, through the same part of a
// gateway. It must hold the scopes that the tool needed then and needs now. The error is
// [ErrNotGranted], or a [*ScopeError] if scopes are missing.
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
