package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A roleShown is the part of an explanation that roles decide.
type roleShown struct {
	As      string          `json:"as"`
	Roles   []string        `json:"roles"`             // of the caller
	Role    string          `json:"role,omitempty"`    // lets the caller make the call; empty if none does
	Profile string          `json:"profile,omitempty"` // whose rules decide
	Limits  settings.Limits `json:"limits"`            // of the caller
}

// byRole returns what roles decide about a call of the caller that --as names, and sets the
// principal that rules see. It returns nil without roles, or without --as.
func (x *explanation) byRole(a *cli.App, s *settings.Settings, server, tool string) (*roleShown, error) {
	if x.as == "" {
		if len(s.Roles) > 0 {
			a.Screen.Printf("junction: roles decide, too, who may make the call; --as says who makes it\n")
		}
		return nil, nil
	}
	kind, name, err := settings.Caller(x.as)
	if err != nil || kind == settings.Everyone || kind == settings.GroupCaller {
		return nil, cli.Usagef("--as: expected user:NAME, key:NAME or client:NAME, got %q", x.as)
	}
	who := &mcp.Principal{Subject: name, Issuer: x.issuer, Groups: x.groups}
	switch kind {
	case settings.KeyCaller:
		who.Issuer, x.issuer = apikey.Issuer, apikey.Issuer
	case settings.ClientCaller:
		who.Issuer = cmp.Or(x.issuer, "CN=") // of a certificate
	}
	x.principal = name
	roles := layer.NewRoles(s)
	if roles == nil {
		return nil, nil
	}
	set := roles.Of(who)
	shown := &roleShown{As: x.as, Roles: append([]string{}, set.Names()...), Limits: set.Limits(s.Limits.Limits)}
	shown.Role, shown.Profile = roles.Decide(set, x.profile, gateway.Entry{Kind: "tool", Server: server, Name: tool, Exposed: exposedName(s, server, tool)})
	return shown, nil
}

// exposedName returns the name of a tool for clients of junction up, without regard to conflicts
// with other servers.
func exposedName(s *settings.Settings, server, tool string) string {
	prefix, of := server, s.Servers[server]
	if of.Prefix != nil {
		prefix = *of.Prefix
	}
	switch name := of.Tools[tool].Name; {
	case name != "":
		return name
	case prefix == "" || s.Names == "none":
		return tool
	}
	return prefix + gateway.Separator + tool
}

// ownName returns the server and the tool of a name for clients. They are empty if no server has
// the prefix of the name.
func ownName(s *settings.Settings, servers []string, exposed string) (server, tool string) {
	for _, name := range servers {
		of := s.Servers[name]
		for own, t := range of.Tools {
			if t.Name == exposed {
				return name, own
			}
		}
		rest, found := strings.CutPrefix(exposed, exposedName(s, name, ""))
		if found && rest != "" && len(rest) < len(exposed) && (server == "" || len(rest) < len(tool)) {
			server, tool = name, rest
		}
	}
	return server, tool
}

// lines returns what the roles decide, as text.
func (r *roleShown) lines() string {
	is := plaintext.Line(r.As, cli.MaxLog)
	switch {
	case len(r.Roles) == 0:
		return fmt.Sprintf("  %s has no role, and may use nothing\n", is)
	case r.Role == "":
		return fmt.Sprintf("  no role of %s (%s) offers the tool here\n", is, strings.Join(r.Roles, ", "))
	}
	text := fmt.Sprintf("  %s may make the call by the role %s", is, r.Role)
	if r.Profile != "" {
		text += " in the profile " + r.Profile
	}
	limits := slices.DeleteFunc([]string{r.Limits.Rate, r.Limits.Bytes}, func(l string) bool { return l == "" })
	if len(limits) > 0 {
		text += ", within " + strings.Join(limits, " and ")
	}
	return text + "\n"
}
