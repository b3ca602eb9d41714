package cli

import (
	"strings"

	"github.com/junction-mcp/junction/launch"
)

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
