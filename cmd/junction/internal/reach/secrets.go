package reach

import (
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/redact"
)

// A PlainSecret is a secret in a host's file that is not encrypted.
type PlainSecret struct {
	Of            *hostconfig.Carried
	Field         string
	Text          *string // contains the secret
	Before, After string  // the text around it
	Value         string
	Secret        string // the name it is stored under
}

// RedactValue returns the value of a variable or header with secrets hidden.
func RedactValue(name, value string) string {
	if !redact.Named(name) && !redact.Looks(value) {
		return value
	}
	if scheme, _, found := strings.Cut(value, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "token")) {
		return scheme + " " + redact.Hidden
	}
	return redact.Hidden
}
