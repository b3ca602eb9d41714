package launch

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/place"
)

// An Entry is a server that a command line can name: one in a configuration, or one that ships with
// junction.
type Entry struct {
	Name       string
	Definition *config.Definition                // nil: ships with junction
	Sandbox    func() (*settings.Sandbox, error) // returns the settings of its sandbox, or nil; nil: it is never confined, even by its lock
}

// Origin describes where the server is defined.
func (e Entry) Origin(p place.Place) string {
	if e.Definition == nil {
		return "ships with junction"
	}
	return "defined in " + p.Short(e.Definition.Source)
}

// IdleText describes a server that was not asked: "not started", or "not connected" for a URL.
func (e Entry) IdleText() string {
	if e.Definition != nil && !IsProgram(e.Definition.Kind) {
		return "not connected"
	}
	return "not started"
}

// Source returns the file that defines the server, or an empty string for one that ships with
// junction.
func (e Entry) Source() string {
	if e.Definition == nil {
		return ""
	}
	return e.Definition.Source
}

// OfProject reports whether a project's file defines the server.
func (e Entry) OfProject() bool { return e.Definition != nil && e.Definition.Project }

// IsAPI reports whether the entry starts Junction itself to serve an API.
func (e Entry) IsAPI() bool { return e.Definition != nil && e.Definition.Words() == nil }

// IsDisabled reports whether the user disabled the server.
func (e Entry) IsDisabled() bool { return e.Definition != nil && e.Definition.Disabled }

// NeedsInput reports whether the user must be asked for a part of the entry.
func NeedsInput(d *config.Definition) bool {
	return slices.ContainsFunc(d.Variables(), func(variable string) bool { return strings.HasPrefix(variable, "input:") })
}

// Command returns the command line or URL by which the host and rules identify the server; nil for
// one that ships with junction. It includes the project of a project's server, because the same
// words may start other programs elsewhere. It also includes a hash of secrets, defaults and values
// of the environment.
func (e Entry) Command() []string {
	if e.Definition == nil {
		return nil
	}
	return Origin(e.Definition, e.Definition.Hash())
}

// CommandText returns the command line or URL without secrets, or an empty string for a server that ships
// with junction.
func (e Entry) CommandText() string {
	if e.Definition == nil {
		return ""
	}
	named := e.Definition.Name + " (" + e.Definition.Kind.String() + "): "
	return strings.Join(append([]string{strings.TrimPrefix(e.Definition.String(), named)}, e.Definition.Around()...), " ")
}
