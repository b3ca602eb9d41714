package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/definitions"
)

// Remembered is what a server offered when it was last connected to; nil if that
// is not known.
func Remembered(ctx context.Context, e cli.Entry, store *definitions.Store) *definitions.Definitions {
	if store == nil || e.Definition == nil || cli.NeedsInput(e.Definition) {
		return nil
	}
	s, err := e.Definition.Resolve(ctx)
	if err != nil {
		return nil // connecting says what is wrong
	}
	return cli.MemoryOf(store, s, "").Load()
}
