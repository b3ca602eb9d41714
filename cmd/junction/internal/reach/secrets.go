package reach

import (
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/redact"
)

// A PlainSecret stands in a host's file in plain.
type PlainSecret struct {
	Of            *hostconfig.Carried
	Field         string
	Text          *string // it is in there
	Before, After string  // what stands around it
	Value         string
	Secret        string // the name that it is kept under
}

// ShownValue is a variable's value or a header's with what is secret in it hidden.
func ShownValue(name, value string) string {
	if !redact.Named(name) && !redact.Looks(value) {
		return value
	}
	if scheme, _, found := strings.Cut(value, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "token")) {
		return scheme + " " + redact.Hidden
	}
	return redact.Hidden
}
