package guard

import (
	"fmt"
	"strings"
)

// Labels say what kind of text a conversation has read.
type Labels uint8

const (
	// Private text is the user's: what it says must not get to others.
	Private Labels = 1 << iota
	// Untrusted text was written by somebody whom the user did not choose to
	// obey: what it says may be an order to the model.
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

// MarshalText writes labels as String does.
func (l Labels) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText writes. A label that is not known is an
// error.
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

// A Source is where text came from: a tool, or a resource of a server.
type Source struct {
	Server string `json:"server"`
	Origin string `json:"origin,omitempty"` // tells the server from others of its name
	Tool   string `json:"tool,omitempty"`
	URI    string `json:"uri,omitempty"` // of a resource
}

// IsOf reports whether a server is the one of this name and origin.
func (s Source) IsOf(server, origin string) bool { return s.Server == server && s.Origin == origin }

// Attached is the Server of the sources that the person attached, which are no server's.
const Attached = "what was attached"

// IsAttached reports whether the person attached it.
func (s Source) IsAttached() bool { return s.Server == Attached && s.Origin == "" && s.Tool == "" }

// Definitions is the URI of the sources that are the definitions of a server's tools, or what else a model reads of it before a call.
const Definitions = "its definitions"

// IsDefinitions reports whether it is the definitions of a server.
func (s Source) IsDefinitions() bool { return s.Tool == "" && s.URI == Definitions }

// whole is the server of a source as a whole.
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

// Annotations are what a server says of a tool. Nil is unknown, and means what
// the specification says: it writes, destroys and deals with the outside world.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

func (a Annotations) readOnly() bool  { return a.ReadOnly != nil && *a.ReadOnly }
func (a Annotations) openWorld() bool { return a.OpenWorld == nil || *a.OpenWorld }

// Trust is what the user's configuration says of a server.
type Trust struct {
	// Trusted servers are believed what their annotations say. The text of an
	// untrusted one is untrusted, and whatever it is sent may leave.
	Trusted bool `json:"trusted,omitempty"`
	// Public servers have nothing private: a search engine, a weather service.
	Public bool `json:"public,omitempty"`
}

// LabelsOf returns the labels of what a tool answers. Text is trusted only if the
// server is and says that the tool does not reach the outside world; it is private
// unless the server is public, since no annotation says so.
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

// A Call is a call that a model asks for.
type Call struct {
	Server      string
	Origin      string // tells the server from others of its name
	Tool        string
	Trust       Trust
	Annotations Annotations
	Arguments   []byte // JSON, or any text that will leave

	// Local is for a call of a server that is a program on this machine, run as the person.
	Local bool
	// Chosen is for a call that a rule allows which the person made for its server: what
	// this server says itself is part of that, where the call can carry nothing to it that
	// is others'.
	Chosen bool
	// Known are servers whose text the person knew of when they made such a rule. It is no
	// reason to ask, unless it looks like an order.
	Known []Source
}

// isOf reports whether text comes from the server that is called.
func (c Call) isOf(s Source) bool { return s.IsOf(c.Server, c.Origin) }

// Writes reports whether a call may change, send or spend something. A server
// that is not trusted is believed that a tool only reads, but not where the
// question goes: see Leaves.
func (c Call) Writes() bool { return !c.Annotations.readOnly() }

// Leaves reports whether what the call says gets to others than the user.
func (c Call) Leaves() bool { return !c.Trust.Trusted || c.Annotations.openWorld() }

// Sees reports whether asking a person about a source could keep nothing from the server that
// is called: a program that runs as the person can read what the person attached by itself.
// That is so only of calls that claim to read, and to stay on this machine: what others are
// asked may get further than an honest server, or than the person, knows.
func (c Call) Sees(s Source) bool {
	return c.Local && s.IsAttached() && !c.Writes() && !c.Annotations.openWorld()
}
