package settings

import "github.com/junction-mcp/junction/internal/lazy"

// referenceText matches a reference to a secret.
var referenceText = lazy.Regexp(`^\$\{(?:(secret):([a-zA-Z0-9_.-]{1,100})|(file):([^}]{1,1000})|(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,255}))\}$`)

// Reference returns the place of a secret that text refers to: ${secret:NAME}, ${file:PATH} or
// ${VARIABLE}. kind is "secret", "file" or "env", and name its name there. Both are empty for other
// texts.
func Reference(text string) (kind, name string) {
	m := referenceText().FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", ""
	case m[5] != "":
		return "env", m[5]
	}
	return m[1] + m[3], m[2] + m[4] // one of each pair is empty
}
