package command

import (
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	hidden      = "***"
	maxShown    = 200 // runes of the whole command
	maxArgument = 60  // runes of one argument
)

// String returns the command and its arguments for display, on one line.
// Arguments that look like secrets are replaced by ***: values of flags and
// variables with a telling name, headers, tokens by their prefix, and the
// userinfo and query of URLs. Whoever passes a secret to a program should use
// Env all the same: arguments are visible to other users of the machine.
func (c *Command) String() string {
	shown := []string{plaintext.Line(c.Name, maxShown)}
	next := false // the argument is the value of a telling flag
	for _, arg := range c.Args {
		if next {
			arg, next = hidden, false
		} else {
			next = strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "= ") && telling(arg)
			arg = masked(arg)
		}
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'") {
			arg = `"` + arg + `"`
		}
		shown = append(shown, plaintext.Line(arg, maxArgument))
	}
	return plaintext.Line(strings.Join(shown, " "), maxShown)
}

// masked hides what is secret in one argument.
func masked(arg string) string {
	name, value, assigned := strings.Cut(arg, "=")
	switch {
	case isURL(arg):
		return maskedURL(arg)
	case assigned && (telling(name) || !isURL(value) && secret(value)):
		return name + "=" + hidden
	case assigned && isURL(value):
		return name + "=" + maskedURL(value)
	case secret(arg):
		return hidden
	}
	if name, _, isHeader := strings.Cut(arg, ":"); isHeader && telling(name) {
		return name + ": " + hidden
	}
	return arg
}

func isURL(s string) bool {
	scheme, _, found := strings.Cut(s, "://")
	return found && !strings.ContainsAny(scheme, "= /?")
}

func maskedURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	u.Fragment = ""
	return strings.ReplaceAll(u.String(), "%2A%2A%2A", hidden)
}

// tellingWords are parts of names whose values are nobody's business.
var tellingWords = [...]string{
	"token", "secret", "password", "passwd", "passphrase", "pwd", "apikey", "auth", "credential",
	"cookie", "bearer", "private", "signature", "connectionstring", "dsn",
}

// telling reports whether a flag, variable or header of this name holds a secret.
func telling(name string) bool {
	name = strings.ToLower(name)
	letters := strings.NewReplacer("-", "", "_", "", ".", "").Replace(name)
	for _, word := range tellingWords {
		if strings.Contains(letters, word) {
			return true
		}
	}
	return strings.HasSuffix(letters, "key")
}

// prefixes are how well-known tokens begin.
var prefixes = [...]string{
	"sk-", "pk-", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-",
	"AKIA", "ASIA", "AIza", "ya29.", "eyJ", "hf_", "npm_", "Bearer ", "Basic ",
}

// secret reports whether a value is a token by its looks.
func secret(value string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(value, prefix) && len(value) > len(prefix)+8 {
			return true
		}
	}
	return false
}
