package command

import (
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

const (
	maxShown    = 200 // maximum runes of the whole command
	maxArgument = 60  // maximum runes of one argument
)

// String returns the command and its arguments on one line, for display. It replaces arguments that
// look like secrets with ***: values of flags and variables with a sensitive name, headers, and
// tokens with a known prefix. In URLs, it replaces the userinfo, the values of the query, the
// fragment and possible keys in the path. Secrets belong in Env all the same, as other users of the
// machine can see arguments.
func (c *Command) String() string {
	shown := []string{plaintext.Line(c.Name, maxShown)}
	for _, arg := range redact.Arguments(c.Args) {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'") {
			arg = `"` + arg + `"`
		}
		shown = append(shown, plaintext.Line(arg, maxArgument))
	}
	return plaintext.Line(strings.Join(shown, " "), maxShown)
}
