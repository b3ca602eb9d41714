// Package note lets code that works on a request report facts that its messages do not contain: a
// rule that decided, a limit, a repetition, a form that the specification forbids. Traffic, the
// audit log and metrics listen.
package note

import "context"

// Kinds of notes. docs/console.md describes their content.
const (
	HTTP      = "http"      // headers and status of an exchange
	Policy    = "policy"    // decision of rules, or of the user of a chat
	Limit     = "limit"     // a limit refused or delayed a request
	Scopes    = "scopes"    // the user lacks scopes
	Role      = "role"      // a role of the user, or the lack of one, decided
	Secrets   = "secrets"   // a secret was found
	Review    = "review"    // definitions are withheld
	Retry     = "retry"     // a request is sent again after a pause
	Resent    = "resent"    // a request is sent again at once
	Rewritten = "rewritten" // a layer changed the arguments or the result
	Labels    = "labels"    // labels of the data that a call may carry
	Tolerance = "tolerance" // a form that the specification forbids was accepted
)

// IsHandling reports whether notes of a kind describe the handling of a request by layers: the
// audit log and metrics listen to these.
func IsHandling(kind string) bool {
	switch kind {
	case Policy, Limit, Scopes, Role, Secrets, Review, Retry, Resent, Rewritten:
		return true
	}
	return false
}

// IsAgain reports whether notes of a kind are about a request that is sent to its server again.
func IsAgain(kind string) bool { return kind == Retry || kind == Resent }

// Starting is the member of the _meta of a progress notification of a gateway that starts the
// server: it is not progress of the server.
const Starting = "io.github.junction-mcp/starting"

// A Noter gets the notes of a request. It is an mcp.Noter.
type Noter interface{ Note(kind string, note any) }

// A listener is a Noter that listens to some kinds only.
type listener interface{ Hears(kind string) bool }

// Key is the key of the Noter of a request in its context; see mcp.WithNoter.
type Key struct{}

// Of returns the Noter of the request with the context ctx, or nil if none listens to the kind.
func Of(ctx context.Context, kind string) Noter {
	n, _ := ctx.Value(Key{}).(Noter)
	if !Hears(n, kind) {
		return nil
	}
	return n
}

// A wrapper is a Noter around another one.
type wrapper interface{ Unwrap() Noter }

// Find returns the first Noter of a type of the request with the context ctx: its own, or one that
// it wraps. It returns the zero value without one.
func Find[T Noter](ctx context.Context) (found T) {
	n, _ := ctx.Value(Key{}).(Noter)
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

// Hears reports whether a Noter, which may be nil, listens to a kind.
func Hears(n Noter, kind string) bool {
	if l, some := n.(listener); some {
		return l.Hears(kind)
	}
	return n != nil
}

// A Decision is the part of notes about whether a request is handled; see [Decider].
type Decision struct {
	Effect string // allow, ask or deny
	Rule   string // rule that decided, such as "policy.json:3" or "the limit of you"
	Reason string
	// Refused is set if the request is not handled for that reason.
	Refused bool
	// Whatever is set if the request is one too many, whatever its content.
	Whatever bool
}

// A Decider is a note that may hold a decision; ok is false without one.
type Decider interface{ Decision() (d Decision, ok bool) }

// A Refusal is the note of a layer that refuses a request.
type Refusal struct {
	Server  string `json:"server,omitempty"`
	Rule    string `json:"rule"`
	Refused string `json:"refused"` // reason
}

// Decision implements [Decider].
func (r Refusal) Decision() (Decision, bool) {
	return Decision{Effect: "deny", Rule: r.Rule, Reason: r.Refused, Refused: true}, true
}

// Refuse notes that the request with the context ctx is refused.
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

// Parts of a call that a layer rewrites.
const (
	Arguments = "arguments"
	Result    = "result"
)

// A Change is the note of a layer that rewrote a part of a call. Notes contain no values.
type Change struct {
	Of      string   `json:"of"`                // Arguments or Result
	By      string   `json:"by"`                // the layer
	Members []string `json:"members,omitempty"` // of the part, if the layer knows them
}

// Rewrite notes that a layer rewrote a part of the request with the context ctx.
func Rewrite(ctx context.Context, of, by string, members ...string) {
	if n := Of(ctx, Rewritten); n != nil {
		n.Note(Rewritten, Change{of, by, members})
	}
}

// An Again is the note of a request that is sent again.
type Again struct {
	Server string `json:"server,omitempty"`
}

// Repeat notes that the request with the context ctx is sent again at once, because its response
// was lost or its server uses another era.
func Repeat(ctx context.Context, server string) {
	if n := Of(ctx, Resent); n != nil {
		n.Note(Resent, Again{server})
	}
}
