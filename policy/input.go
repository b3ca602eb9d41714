package policy

import (
	"cmp"
	"encoding/json"
	"time"
)

// Input is the call that is to be decided about. Conditions see all of it.
type Input struct {
	// Method is the request's method; empty is tools/call.
	Method string `json:"method,omitempty"`
	// Server is the name under which the server is configured.
	Server string `json:"server,omitempty"`
	// Origin tells the server from others that go by the same name: a hash of what it is
	// started or reached by. Empty is not known.
	Origin string `json:"origin,omitempty"`
	// Tool is the tool's own name at that server; empty for other requests.
	Tool string `json:"tool,omitempty"`
	// Title is what people read in place of the name. It is the server's claim.
	Title string `json:"title,omitempty"`
	// Arguments is a JSON object, or nil for an empty one. Conditions on anything else
	// fail, and rules with them with it.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Annotations are the server's claims about the tool.
	Annotations Annotations `json:"annotations,omitzero"`
	// Resource is the URI that is read or subscribed to, if one is.
	Resource string `json:"resource,omitempty"`
	// Principal is on whose behalf the call is made.
	Principal Principal `json:"principal,omitzero"`
	// Labels are what the call's data is known to hold, such as untrusted or private.
	Labels []string `json:"labels,omitempty"`
	// Sources are the servers whose output has reached this call.
	Sources []string `json:"sources,omitempty"`
	// Trusted says that the person trusts the server's claims.
	Trusted bool `json:"trusted,omitempty"`
	// Client is the name of the program that makes the call.
	Client string `json:"client,omitempty"`
	// Profile is the part of a gateway that the call came to; see package gateway.
	Profile string `json:"profile,omitempty"`
	// Now is when the call is made; by default the time of the decision.
	Now time.Time `json:"now,omitzero"`
	// Unknown names what of the call is not known, such as where it comes from a log: server, tool, title,
	// annotations, args, args.NAME for a member of the arguments, which is there all the same, resource, origin,
	// trusted or client.
	// Where it matters, the decision says so.
	Unknown []string `json:"-"`
}

// Annotations are a tool's hints, without the word. nil means unsaid, and then the
// specification's default holds.
type Annotations struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`    // changes nothing; default false
	Destructive *bool `json:"destructive,omitempty"` // may destroy, not only add; default true
	Idempotent  *bool `json:"idempotent,omitempty"`  // twice is the same as once; default false
	OpenWorld   *bool `json:"openWorld,omitempty"`   // deals with the outside world; default true
}

// Principal is who is authenticated.
type Principal struct {
	Subject string   `json:"subject,omitempty"` // whom the issuer means
	Issuer  string   `json:"issuer,omitempty"`  // who vouches for it
	Scopes  []string `json:"scopes,omitempty"`  // what was granted
}

// callTool is the method that an Input has if it says none.
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
