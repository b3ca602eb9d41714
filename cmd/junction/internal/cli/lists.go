package cli

import (
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// Declares reports whether a server declares to have a list. Those of extensions may only be asked for then.
func Declares(c mcp.ServerCapabilities, l *revision.Method) bool {
	if l.Name == skills.MethodList {
		return skills.Declared(c)
	}
	return c.List(l.Capability) != nil
}
