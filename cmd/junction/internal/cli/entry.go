package cli

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

// An Entry is one of the servers that there are without a URL or command: from a
// configuration, or shipped with junction.
type Entry struct {
	Name       string
	Definition *config.Definition                // nil: shipped
	Sandbox    func() (*settings.Sandbox, error) // what the settings say of it, if anything; nil: it is not confined, whatever its lock says
}

// Origin says where the server is defined, for people.
func (e Entry) Origin(p place.Place) string {
	if e.Definition == nil {
		return "ships with junction"
	}
	return "defined in " + p.Short(e.Definition.Source)
}

// AtRest is the word for a server that was not asked.
func (e Entry) AtRest() string {
	if e.Definition != nil && !launch.IsProgram(e.Definition.Kind) {
		return "not connected"
	}
	return "not started"
}

// Source is the file that defines the server; empty for one that ships with junction.
func (e Entry) Source() string {
	if e.Definition == nil {
		return ""
	}
	return e.Definition.Source
}

// OfProject reports whether a project's file defines the server.
func (e Entry) OfProject() bool { return e.Definition != nil && e.Definition.Project }

// IsAPI reports whether Junction itself is started, to serve the API that the entry names.
func (e Entry) IsAPI() bool { return e.Definition != nil && e.Definition.Words() == nil }

// IsDisabled reports whether the person switched the server off.
func (e Entry) IsDisabled() bool { return e.Definition != nil && e.Definition.Disabled }

// NeedsInput reports whether a person must be asked for a part of the entry.
func NeedsInput(d *config.Definition) bool {
	return slices.ContainsFunc(d.Variables(), func(variable string) bool { return strings.HasPrefix(variable, "input:") })
}

// Command is the command line of the server, or its URL, as the host and rules know it;
// nil for one that ships with junction. A project's server differs from those that
// other projects start by the same words, which may run another program; and so does one with
// other secrets, defaults or values in its environment, of which only a hash is known.
func (e Entry) Command() []string {
	if e.Definition == nil {
		return nil
	}
	return e.CommandOf(e.Definition.Hash())
}

// Run is what is started or called for people, without what may be secret; empty for one that ships with junction.
func (e Entry) Run() string {
	if e.Definition == nil {
		return ""
	}
	named := e.Definition.Name + " (" + e.Definition.Kind.String() + "): "
	return strings.Join(append([]string{strings.TrimPrefix(e.Definition.String(), named)}, e.Definition.Around()...), " ")
}

// CommandOf is command where this is the definition's hash.
func (e Entry) CommandOf(hash string) []string { return launch.Origin(e.Definition, hash) }

// ShippedNames are the servers that ship with junction.
func ShippedNames() []string {
	return []string{"everything", "fetch", "filesystem", "graphql", "http", "memory", "openapi", "sql", "time"}
}
