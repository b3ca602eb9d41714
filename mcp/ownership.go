package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/granted"
)

// A PrincipalKey identifies the holder of credentials: a user with some scopes, acting through one
// client. PrincipalKey is a comparable type; scopes are normalized, so their order does not matter.
// Different keys of the same user may have different permissions.
type PrincipalKey struct {
	Issuer, Subject, ClientID string
	Scopes                    string // sorted, without duplicates, separated by single spaces
}

// Key returns the holder of the principal's credentials. For a nil Principal, it returns the
// zero PrincipalKey.
func (p *Principal) Key() PrincipalKey {
	if p == nil {
		return PrincipalKey{}
	}
	scopes := p.Scopes
	if !slices.IsSorted(scopes) {
		scopes = slices.Sorted(slices.Values(scopes))
	}
	return PrincipalKey{p.Issuer, p.Subject, p.ClientID, strings.Join(slices.Compact(slices.Clone(scopes)), " ")}
}

// IsOf reports whether p and other are the same client of the same user, with any scopes. A nil
// Principal is an unauthenticated caller.
func (p *Principal) IsOf(other *Principal) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Issuer == other.Issuer && p.Subject == other.Subject && p.ClientID == other.ClientID
}

// Lacks returns the elements of scopes that the principal does not have.
func (p *Principal) Lacks(scopes []string) (missing []string) {
	for _, scope := range scopes {
		if p == nil || !slices.Contains(p.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// ErrNotOwner is the error of [Ownership.Allows] if the object belongs to another caller. Respond
// as if the object did not exist.
var ErrNotOwner = errors.New("it belongs to another caller")

// An Ownership is the authorization for an object that outlives its request, such as a task or a
// long result. It is stored with the object, and [Ownership.Allows] decides about later access to
// the object.
type Ownership struct {
	Owner *Principal `json:"owner,omitempty"` // nil if unauthenticated
	Part  string     `json:"part,omitempty"`  // part of a gateway that the request came through
	Tool  string     `json:"tool,omitempty"`  // called tool, by the name that decides the needed scopes
	Needs []string   `json:"needs,omitempty"` // scopes that the tool needed
	// Decided is set if middleware decided which scopes the tool needs; Needs contains them.
	// Otherwise access needs all scopes of the owner.
	Decided bool `json:"decided,omitempty"`
}

// OwnershipOf returns the Ownership for an object that is stored for a request.
func OwnershipOf(ctx context.Context, req *Request) Ownership {
	g := Ownership{Owner: req.Principal, Part: granted.Part(ctx)}
	g.Tool, g.Needs, g.Decided = granted.Decided(ctx)
	return g
}

// Allows checks whether the principal who may access the object that was stored with the Ownership.
// ctx must be the context of a request of this principal. Access requires the same client of the
// same user, through the same part of a gateway. It also requires the scopes that the tool needed
// then and needs now. The error is [ErrNotOwner], or a [*ScopeError] if scopes are missing.
func (g *Ownership) Allows(ctx context.Context, who *Principal) error {
	if !g.Owner.IsOf(who) || g.Part != granted.Part(ctx) {
		return ErrNotOwner
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
