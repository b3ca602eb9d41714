package reach

import (
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
)

// AuditFolder is the folder of a log that the command line names.
func AuditFolder(p place.Place, named string) (string, error) {
	if named != usualFolder && named != "" {
		return p.Path(named), nil
	}
	return p.State("audit")
}

// AuditKey is the key of this installation.
func AuditKey(p place.Place) (*audit.Key, error) { return cli.Kept(p, "audit.key", audit.ReadKey) }
