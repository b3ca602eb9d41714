package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/launch"
)

// StoredDefinitions returns the stored definitions of a server, or nil if there are none.
func StoredDefinitions(ctx context.Context, e launch.Entry, store *definitions.Store) *definitions.Definitions {
	if store == nil || e.Definition == nil || launch.NeedsInput(e.Definition) {
		return nil
	}
	s, err := e.Definition.Resolve(ctx)
	if err != nil {
		return nil // connecting reports the error
	}
	return cli.DefinitionsEntry(store, s, "").Load()
}
