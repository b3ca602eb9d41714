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

// Serve serves the client on standard input and output until standard input ends or ctx is done. It
// then waits for running requests, at most for the DrainTimeout. The error is nil after a normal
// end.
//
// Serve does not read from a client that does not read its responses. It waits until the client
// reads, or closes its side. After a write has failed, Serve returns the error.
//
// If ctx is done before standard input ends, one goroutine continues to wait for input, as the
// system cannot interrupt it. It drops that input. So a process should call Serve only once.
func Serve(ctx context.Context, h mcp.Handler) error {
	return ServeWith(ctx, h, mcp.ServeOptions{})
}

// ServeWith is like [Serve], with options.
func ServeWith(ctx context.Context, h mcp.Handler, o mcp.ServeOptions) error {
	return serve(ctx, h, os.Stdin, os.Stdout, nil, o)
}

// ServeStreams is like [ServeWith], for any pair of streams. When ctx is done, it sets a deadline
// in the past on in, or closes in if it has no deadlines.
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

// interrupt makes a blocked Read return.
func interrupt(in io.ReadCloser) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	in.Close()
}
