package policy

import (
	"cmp"
	"encoding/json"
	"time"
)

// Input is a call to decide about. Conditions can use all of its fields.
type Input struct {
	// Method is the method of the request; empty means tools/call.
	Method string `json:"method,omitempty"`
	// Server is the name under which the server is configured.
	Server string `json:"server,omitempty"`
	// Origin is a hash of the server's command line or URL. It distinguishes servers of the same
	// name. Empty means unknown.
	Origin string `json:"origin,omitempty"`
	// Tool is the server's own name of the tool; empty for other requests.
	Tool string `json:"tool,omitempty"`
	// Title is the name that users see instead of Tool. It is a claim of the server.
	Title string `json:"title,omitempty"`
	// Arguments is a JSON object, or nil for an empty one. With any other value, conditions that
	// use the arguments fail.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Annotations are the server's claims about the tool.
	Annotations Annotations `json:"annotations,omitzero"`
	// Resource is the URI that is read or subscribed to, or empty.
	Resource string `json:"resource,omitempty"`
	// Principal is the user for whom the call is made.
	Principal Principal `json:"principal,omitzero"`
	// Labels are the known properties of the data in the call, such as untrusted or private.
	Labels []string `json:"labels,omitempty"`
	// Sources are the servers whose output has influenced this call.
	Sources []string `json:"sources,omitempty"`
	// Trusted is set if the user trusts the claims of the server.
	Trusted bool `json:"trusted,omitempty"`
	// Client is the name of the program that makes the call.
	Client string `json:"client,omitempty"`
	// Profile is the profile of the gateway that received the call; see package gateway.
	Profile string `json:"profile,omitempty"`
	// Now is the time of the call; zero means the time of the decision.
	Now time.Time `json:"now,omitzero"`
	// Unknown names parts of the call that are unknown, for example because the call comes from a
	// log. The names are server, tool, title, annotations, args, resource, origin, trusted, client
	// and principal.groups. The name args.NAME is for an existing member of the arguments. If the decision
	// depends on such a part, it names the part.
	Unknown []string `json:"-"`
}

// Annotations are the hints of a tool, without the suffix Hint. Nil means that the server does not
// set the hint, and has the specification's default.
type Annotations struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`    // whether the tool changes nothing; default false
	Destructive *bool `json:"destructive,omitempty"` // whether the tool may destroy and not only add; default true
	Idempotent  *bool `json:"idempotent,omitempty"`  // whether a second equal call changes nothing; default false
	OpenWorld   *bool `json:"openWorld,omitempty"`   // whether the tool interacts with the outside world; default true
}

// Principal is the authenticated user for whom a call is made.
type Principal struct {
	Subject string   `json:"subject,omitempty"` // name of the user at the issuer
	Issuer  string   `json:"issuer,omitempty"`  // issuer that authenticated the user
	Scopes  []string `json:"scopes,omitempty"`  // granted scopes
	Groups  []string `json:"groups,omitempty"`  // groups of the user at the issuer
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
