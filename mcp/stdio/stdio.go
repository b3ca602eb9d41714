package stdio

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/lines"
)

// Serve answers the client on standard input and output until standard input
// ends or ctx is done, and then waits for running requests as long as
// DrainTimeout says. The error is nil at an orderly end.
//
// A client that does not read its responses is not read from either: Serve waits
// until it does, or closes its side. Once a write failed Serve returns its error.
//
// When ctx is done before standard input ends, one goroutine is left waiting
// for input, as the system cannot interrupt it; what it reads is dropped. Call
// Serve once in the life of a process.
func Serve(ctx context.Context, h mcp.Handler) error {
	return ServeWith(ctx, h, mcp.ServeOptions{})
}

// ServeWith is [Serve] with options.
func ServeWith(ctx context.Context, h mcp.Handler, o mcp.ServeOptions) error {
	return serve(ctx, h, os.Stdin, os.Stdout, nil, o)
}

// ServeStreams is [ServeWith] for any pair of streams. When ctx is done, in gets a
// deadline in the past, or is closed where it has none.
func ServeStreams(ctx context.Context, h mcp.Handler, in io.ReadCloser, out io.Writer, o mcp.ServeOptions) error {
	return serve(ctx, h, in, out, func() { interrupt(in) }, o)
}

func serve(ctx context.Context, h mcp.Handler, in io.Reader, out io.Writer, interrupt func(), o mcp.ServeOptions) error {
	e, err := edge.Serving(h, o)
	if err != nil {
		return err
	}
	return lines.Serve(ctx, e, in, out, interrupt, o)
}

// interrupt makes a Read that waits return.
func interrupt(in io.ReadCloser) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	in.Close()
}
