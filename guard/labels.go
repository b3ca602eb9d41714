package guard

import (
	"fmt"
	"strings"
)

// Labels describe text that a conversation has read.
type Labels uint8

const (
	// Private text belongs to the user and must not reach others.
	Private Labels = 1 << iota
	// Untrusted text comes from an author whom the user did not choose to trust. It may contain
	// orders to the model.
	Untrusted
)

// String returns "private", "untrusted", "private+untrusted" or "none".
func (l Labels) String() string {
	var names []string
	if l&Private != 0 {
		names = append(names, "private")
	}
	if l&Untrusted != 0 {
		names = append(names, "untrusted")
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// MarshalText encodes labels like String.
func (l Labels) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText decodes the output of MarshalText. An unknown label is an error.
func (l *Labels) UnmarshalText(text []byte) error {
	*l = 0
	for name := range strings.SplitSeq(string(text), "+") {
		switch name {
		case "private":
			*l |= Private
		case "untrusted":
			*l |= Untrusted
		case "none":
		default:
			return fmt.Errorf("label %q: want private, untrusted or none", name)
		}
	}
	return nil
}

// A Source is the origin of a text: a tool, or a resource of a server.
type Source struct {
	Server string `json:"server"`
	Origin string `json:"origin,omitempty"` // distinguishes servers with the same name
	Tool   string `json:"tool,omitempty"`
	URI    string `json:"uri,omitempty"` // URI of a resource
}

// IsOf reports whether the source belongs to the server with this name and origin.
func (s Source) IsOf(server, origin string) bool { return s.Server == server && s.Origin == origin }

// Attached is the Server of the sources that the user attached. They belong to no server.
const Attached = "what was attached"

// IsAttached reports whether the user attached the source.
func (s Source) IsAttached() bool { return s.Server == Attached && s.Origin == "" && s.Tool == "" }

// Definitions is the URI of the source of a server's tool definitions and other texts that a model
// reads before a call.
const Definitions = "its definitions"

// IsDefinitions reports whether the source is a server's definitions.
func (s Source) IsDefinitions() bool { return s.Tool == "" && s.URI == Definitions }

// whole returns the source that represents the whole server.
func (s Source) whole() Source { return Source{Server: s.Server, Origin: s.Origin} }

// String returns "server/tool" or "server: uri", safe to show.
func (s Source) String() string {
	switch {
	case s.Tool != "":
		return Visible(cut(s.Server+"/"+s.Tool, maxExcerpt))
	case s.URI != "":
		return Visible(cut(s.Server+": "+s.URI, maxExcerpt))
	}
	return Visible(cut(s.Server, maxExcerpt))
}

// Annotations are a server's hints about a tool. Nil is unknown and means the specification's
// default: the tool writes, destroys and reaches the outside world.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

func (a Annotations) readOnly() bool  { return a.ReadOnly != nil && *a.ReadOnly }
func (a Annotations) openWorld() bool { return a.OpenWorld == nil || *a.OpenWorld }

// Trust is the trust that the user's configuration gives to a server.
type Trust struct {
	// Trusted reports that the server's annotations are accepted. All text of a server without
	// trust is untrusted, and everything sent to it may leave.
	Trusted bool `json:"trusted,omitempty"`
	// Public reports that the server has no private data, like a search engine or a weather
	// service.
	Public bool `json:"public,omitempty"`
}

// LabelsOf returns the labels of a tool's results. Text is trusted only if the server is trusted
// and the tool does not reach the outside world. It is private unless the server is public, because
// no annotation declares it.
func LabelsOf(trust Trust, a Annotations) Labels {
	var l Labels
	if !trust.Trusted || a.openWorld() {
		l |= Untrusted
	}
	if !trust.Public {
		l |= Private
	}
	return l
}

// A Call is a call that a model requests.
type Call struct {
	Server      string
	Origin      string // distinguishes servers with the same name
	Tool        string
	Trust       Trust
	Annotations Annotations
	Arguments   []byte // JSON, or any outgoing text

	// Local is set for a server that is a program on this machine, run as the user.
	Local bool
	// Chosen is set if a rule of the user allows the call. The rule also covers text of the server
	// itself, if the call cannot carry data of other servers to it.
	Chosen bool
	// Known lists the servers whose text the user knew of when they made the rule. Their text is
	// not a reason to ask unless it looks like an order.
	Known []Source
}

// isOf reports whether text comes from the called server.
func (c Call) isOf(s Source) bool { return s.IsOf(c.Server, c.Origin) }

// Writes reports whether a call may change, send or spend something. The annotation that a tool
// only reads is accepted even from an untrusted server. Whether the arguments stay with that server
// is another question: see Leaves.
func (c Call) Writes() bool { return !c.Annotations.readOnly() }

// Leaves reports whether the arguments of the call may reach anyone but the user.
func (c Call) Leaves() bool { return !c.Trust.Trusted || c.Annotations.openWorld() }

// Sees reports whether the called server can read the source anyway, so that a question would
// protect nothing. A program that runs as the user can read the files that the user attached. Only
// calls that claim to read and to stay on this machine qualify. The arguments of other calls may
// travel further than an honest server, or the user, knows.
func (c Call) Sees(s Source) bool {
	return c.Local && s.IsAttached() && !c.Writes() && !c.Annotations.openWorld()
}
