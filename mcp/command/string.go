package command

import (
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

const (
	maxShown    = 200 // runes of the whole command
	maxArgument = 60  // runes of one argument
)

// String returns the command and its arguments for display, on one line. Arguments that look like
// secrets are replaced by ***. These are values of flags and variables with a sensitive name,
// headers, and tokens with a known prefix. In URLs they are the userinfo, the values of the query,
// the fragment and possible keys in the path. Pass secrets in Env all the same: other users of the
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
