package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// maxReason is the largest number of characters of a rule or a reason in a [Part].
const maxReason = 500

// A Needed is the error of a request that callers of roles must approve first. Middleware around
// the rules waits for them, and then passes the request again with [WithApproved]. No client sees
// this error.
type Needed struct {
	Input policy.Input // the request as the rules saw it
	Parts []Part       // sorted by role
}

// Error implements error.
func (n *Needed) Error() string { return "a role must approve the request" }

// A Part is an approval by a role that a request needs.
type Part struct {
	policy.Approval
	Rule, Reason string // of the first rule that asks the role, as text for users
}

// An Approved is a role that approved a request.
type Approved struct {
	Role string
	Self bool // whether the caller of the request did
}

type approvedKey struct{}

// WithApproved returns a context for a request that roles have approved.
func WithApproved(ctx context.Context, by []Approved) context.Context {
	return context.WithValue(ctx, approvedKey{}, by)
}

// asking collects whom rules ask about a request.
type asking struct {
	parts []Part
	user  bool // the client's user
}

// add adds those whom a decision with this effect asks. If several rules ask one role, the
// strictest values count.
func (a *asking) add(d *policy.Decision, effect policy.Effect) {
	if effect != policy.Ask {
		return
	}
	all, user := d.Approvals()
	a.user = a.user || user
	for _, rule := range all {
		one, _ := rule.Approval()
		i := slices.IndexFunc(a.parts, func(p Part) bool { return p.Role == one.Role })
		if i < 0 {
			a.parts = append(a.parts, Part{one, withoutFolder(rule, plaintext.Line(rule.String(), maxReason)), withoutFolder(rule, plaintext.Line(rule.Reason, maxReason))})
			continue
		}
		p := &a.parts[i]
		p.Within, p.For, p.Self = min(p.Within, one.Within), min(p.For, one.For), p.Self && one.Self
	}
}

// missing returns the parts without an approval in a context of [WithApproved].
func (a *asking) missing(ctx context.Context) []Part {
	by, _ := ctx.Value(approvedKey{}).([]Approved)
	missing := slices.DeleteFunc(slices.Clone(a.parts), func(p Part) bool {
		return slices.ContainsFunc(by, func(b Approved) bool { return b.Role == p.Role && (p.Self || !b.Self) })
	})
	slices.SortFunc(missing, func(a, b Part) int { return strings.Compare(a.Role, b.Role) })
	return missing
}

// Refuse returns the outcome of a request that was not approved, as for one that a rule denies.
func Refuse(req *mcp.Request, why string) (mcp.Result, error) {
	return denied(req, &policy.Decision{Rule: new(policy.Rule), Reason: why}, nil)
}
