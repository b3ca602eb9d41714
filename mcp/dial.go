package mcp

import (
	"context"

	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A Transport knows how to reach one server: command.New for a program that it
// starts, streamable.Client for a URL, and so on. Package stream carries
// messages over any pair of byte streams, for transports that are not there.
type Transport interface {
	// Connect reaches the server once. What it returns belongs to the caller.
	Connect(ctx context.Context) (link.Link, error)
	// String names the server in errors: its command or URL, without secrets.
	String() string
}
