package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/place"
)

// OpenConversations opens the stored conversations.
func OpenConversations(ctx context.Context, p place.Place) (*archive.Archive, error) {
	return cli.OpenState(p, "conversations.db", func(path string) (*archive.Archive, error) { return archive.Open(ctx, path) })
}
