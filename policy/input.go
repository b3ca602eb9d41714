package policy

import (
	"cmp"
	"encoding/json"
	"time"
)

// Input is a call to decide about. Conditions can use all of it.
type Input struct {
	// Method is the request's method; empty means tools/call.
	Method string `json:"method,omitempty"`
	// Server is the name under which the server is configured.
	Server string `json:"server,omitempty"`
	// Origin distinguishes the server from others of the same name: a hash of its command line or
	// URL. Empty means not known.
	Origin string `json:"origin,omitempty"`
	// Tool is the tool's own name at that server; empty for other requests.
	Tool string `json:"tool,omitempty"`
	// Title is the name that users see in its place. It is the server's claim.
	Title string `json:"title,omitempty"`
	// Arguments is a JSON object, or nil for an empty one. For any other value, conditions on it
	// fail, and so do their rules.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Annotations are the server's claims about the tool.
	Annotations Annotations `json:"annotations,omitzero"`
	// Resource is the URI that is read or subscribed to, or empty.
	Resource string `json:"resource,omitempty"`
	// Principal is the user for whom the call is made.
	Principal Principal `json:"principal,omitzero"`
	// Labels are known properties of the call's data, such as untrusted or private.
	Labels []string `json:"labels,omitempty"`
	// Sources are the servers whose output has reached this call.
	Sources []string `json:"sources,omitempty"`
	// Trusted is set if the user trusts the server's claims.
	Trusted bool `json:"trusted,omitempty"`
	// Client is the name of the program that makes the call.
	Client string `json:"client,omitempty"`
	// Profile is the part of a gateway that the call came to; see package gateway.
	Profile string `json:"profile,omitempty"`
	// Now is the time of the call; zero means the time of the decision.
	Now time.Time `json:"now,omitzero"`
	// Unknown names parts of the call that are not known, such as those of a call from a log:
	// server, tool, title, annotations, args, resource, origin, trusted or client, or args.NAME for
	// a member of the arguments that exists. If such a part matters, the decision names it.
	Unknown []string `json:"-"`
}

// Annotations are a tool's hints, without the suffix Hint. Nil means not set, with the
// specification's default.
type Annotations struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`    // changes nothing; default false
	Destructive *bool `json:"destructive,omitempty"` // may destroy, not only add; default true
	Idempotent  *bool `json:"idempotent,omitempty"`  // twice is the same as once; default false
	OpenWorld   *bool `json:"openWorld,omitempty"`   // interacts with the outside world; default true
}

// Principal is the authenticated user.
type Principal struct {
	Subject string   `json:"subject,omitempty"` // is the issuer's name of the user
	Issuer  string   `json:"issuer,omitempty"`  // is the issuer that authenticated the user
	Scopes  []string `json:"scopes,omitempty"`  // lists the granted scopes
}

// callTool is the method of an Input without one.
const callTool = "tools/call"

func (in *Input) now() time.Time {
	if in.Now.IsZero() {
		return time.Now()
	}
	return in.Now
}

func (in *Input) method() string {
	return cmp.Or(in.Method, callTool)
}
