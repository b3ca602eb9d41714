package stdio

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/junction-mcp/junction/internal/pollable"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/lines"
)

// Serve answers the client on standard input and output until standard input
// ends or ctx is done, and then waits for running requests as long as
// DrainTimeout says. options, at most one, may be left away. The error is nil
// at an orderly end.
//
// While Serve runs, pipes and sockets among the two are in non-blocking mode.
func Serve(ctx context.Context, h mcp.Handler, options ...mcp.ServeOptions) error {
	in := pollable.File(os.Stdin)
	out := pollable.File(os.Stdout)
	if in != os.Stdin {
		defer pollable.Restore(os.Stdin)
		defer in.Close()
	}
	if out != os.Stdout {
		defer pollable.Restore(os.Stdout)
		defer out.Close()
	}
	return ServeStreams(ctx, h, in, out, options...)
}

// ServeStreams is [Serve] for any pair of streams. Where in cannot be
// interrupted by a deadline it is closed when ctx is done.
func ServeStreams(ctx context.Context, h mcp.Handler, in io.ReadCloser, out io.Writer, options ...mcp.ServeOptions) error {
	var o mcp.ServeOptions
	if len(options) > 0 {
		o = options[0]
	}
	e, err := edge.Serving(h, o)
	if err != nil {
		return err
	}
	return lines.Serve(ctx, e, in, out, func() { interrupt(in) }, o)
}

// interrupt makes a Read that waits return.
func interrupt(in io.ReadCloser) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	in.Close()
}
