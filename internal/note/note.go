// Package note lets code that handles a request report facts that are not part of its messages,
// such as the rule that decided, a limit, a repetition, or a form that the specification forbids.
// Recorded traffic, the audit log and metrics use these notes.
package note

import (
	"context"
	"time"
)

// Kinds of notes. docs/console.md describes their contents.
const (
	HTTP      = "http"      // headers and status of an HTTP exchange
	Policy    = "policy"    // decision by rules, or by the user of a chat
	Limit     = "limit"     // a limit delayed or refused a request
	Scopes    = "scopes"    // the user lacks scopes
	Role      = "role"      // a role of the user, or the lack of one, decided
	Approved  = "approval"  // other callers approved or refused a request
	Secrets   = "secrets"   // a secret was found
	Review    = "review"    // definitions are withheld
	Retry     = "retry"     // a request is sent again after a pause
	Resent    = "resent"    // a request is sent again at once
	Rewritten = "rewritten" // a layer changed the arguments or the result
	Labels    = "labels"    // labels of the data that a call may contain
	Tolerance = "tolerance" // a form that the specification forbids was accepted
)

// IsHandling reports whether notes of a kind describe how layers handled a request. The audit log
// and metrics use these kinds.
func IsHandling(kind string) bool {
	switch kind {
	case Policy, Limit, Scopes, Role, Approved, Secrets, Review, Retry, Resent, Rewritten:
		return true
	}
	return false
}

// IsAgain reports whether notes of a kind are about a request that is sent to its server again.
func IsAgain(kind string) bool { return kind == Retry || kind == Resent }

// Starting is a member of the _meta of a progress notification. It means that the gateway is
// starting the server; the notification does not come from the server.
const Starting = "io.github.junction-mcp/starting"

// An Observer receives the notes of a request. It has the methods of mcp.NoteObserver.
type Observer interface{ Note(kind string, note any) }

// A listener is a Observer that wants notes of some kinds only.
type listener interface{ Hears(kind string) bool }

// Key is the context key of a request's Observer; see mcp.WithNoteObserver.
type Key struct{}

// Of returns the Observer of the request with the context ctx. It returns nil if there is none or
// if it does not want notes of the kind.
func Of(ctx context.Context, kind string) Observer {
	n, _ := ctx.Value(Key{}).(Observer)
	if !Hears(n, kind) {
		return nil
	}
	return n
}

// A wrapper is a Observer that wraps another one.
type wrapper interface{ Unwrap() Observer }

// Find returns the first Observer of type T of the request with the context ctx: the request's own
// Observer, or one that it wraps. It returns the zero value if there is none.
func Find[T Observer](ctx context.Context) (found T) {
	n, _ := ctx.Value(Key{}).(Observer)
	for n != nil {
		if is, ok := n.(T); ok {
			return is
		}
		w, some := n.(wrapper)
		if !some {
			break
		}
		n = w.Unwrap()
	}
	return found
}

// Hears reports whether a Observer, which may be nil, wants notes of a kind.
func Hears(n Observer, kind string) bool {
	if l, some := n.(listener); some {
		return l.Hears(kind)
	}
	return n != nil
}

// A Decision is the part of a note that tells whether a request is handled; see [Decider].
type Decision struct {
	Effect string // allow, ask or deny
	Rule   string // the rule that decided, such as "policy.json:3" or "the limit of you"
	Reason string
	// Refused is set if the request is refused for the reason in Reason.
	Refused bool
	// Whatever is set if the number of requests was the reason, and not the content of this one.
	Whatever bool
}

// A Decider is a note that may contain a decision. ok is false if it contains none.
type Decider interface{ Decision() (d Decision, ok bool) }

// A Refusal is the note of a layer that refused a request.
type Refusal struct {
	Server  string `json:"server,omitempty"`
	Rule    string `json:"rule"`
	Refused string `json:"refused"` // reason
}

// Decision implements [Decider].
func (r Refusal) Decision() (Decision, bool) {
	return Decision{Effect: "deny", Rule: r.Rule, Reason: r.Refused, Refused: true}, true
}

// Refuse adds a note that the request with the context ctx is refused.
func Refuse(ctx context.Context, kind string, r Refusal) {
	if n := Of(ctx, kind); n != nil {
		n.Note(kind, r)
	}
}

// A Granted is the note of a role that lets its user use something.
type Granted struct {
	Role    string `json:"role"`
	Profile string `json:"profile,omitempty"` // profile whose rules decide, if the role has profiles
}

// An Approval is the note of a request that needed the approval of roles.
type Approval struct {
	Server  string        `json:"server,omitempty"`
	Outcome string        `json:"outcome"`          // approved, refused, expired, left or full
	By      string        `json:"by,omitempty"`     // the callers who approved it, or the one who refused it
	Role    string        `json:"role,omitempty"`   // roles for which they answered
	Rule    string        `json:"rule,omitempty"`   // the rule that asks, unless the request was approved
	Reason  string        `json:"reason,omitempty"` // of a refusal
	Waited  time.Duration `json:"-"`
	Counted bool          `json:"-"` // whether only the number of such requests is logged
}

// Decision implements [Decider]. An approved request is decided by the rules.
func (a Approval) Decision() (Decision, bool) {
	return Decision{Effect: "deny", Rule: a.Rule, Reason: a.Reason, Refused: a.Counted, Whatever: a.Counted}, a.Rule != ""
}

// The parts of a call that a layer can rewrite.
const (
	Arguments = "arguments"
	Result    = "result"
)

// A Change is the note of a layer that rewrote a part of a call. It contains no values.
type Change struct {
	Of      string   `json:"of"`                // Arguments or Result
	By      string   `json:"by"`                // name of the layer
	Members []string `json:"members,omitempty"` // rewritten members of the part, if the layer knows them
}

// Rewrite adds a note that a layer rewrote a part of the request with the context ctx.
func Rewrite(ctx context.Context, of, by string, members ...string) {
	if n := Of(ctx, Rewritten); n != nil {
		n.Note(Rewritten, Change{of, by, members})
	}
}

// An Again is the note about a request that is sent again.
type Again struct {
	Server string `json:"server,omitempty"`
}

// Repeat adds a note that the request with the context ctx is sent again at once, because its
// response was lost or because its server uses another era.
func Repeat(ctx context.Context, server string) {
	if n := Of(ctx, Resent); n != nil {
		n.Note(Resent, Again{server})
	}
}
