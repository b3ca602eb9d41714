package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host/trace"
	"github.com/junction-mcp/junction/mcp"
)

// unbroken is a width that no line of a trace reaches.
const unbroken = 1 << 30

// SetUpTrace sets up the trace if a flag requests one.
func (t *Setup) SetUpTrace() error {
	f := t.Flags
	if f.traceFile != "" {
		if _, err := drawing(f.traceFile); err != nil { // fails before any request to the model costs money
			return err
		}
	}
	if !f.Trace && f.traceFile == "" {
		return nil
	}
	o := trace.Options{Width: t.App.Screen.Width()}
	if f.OnScreen {
		o.Width = unbroken // the screen's log wraps lines
	}
	if f.Trace {
		o.Out = t.App.Screen
	}
	t.Trace = trace.New(o)
	t.Options.Trace = true
	t.Options.Middleware = func(server string) mcp.Middleware {
		return func(next mcp.Handler) mcp.Handler {
			traced := trace.Handler(next, server, t.Trace)
			return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				if req.Method == "ping" { // the gateway sends it to check the connection
					return next.Handle(ctx, req)
				}
				return traced.Handle(ctx, req)
			})
		}
	}
	return nil
}

// drawing returns the function that writes a trace in the format for the extension of the path.
func drawing(path string) (func(*trace.Trace, io.Writer) error, error) {
	mermaid := (*trace.Trace).WriteMermaid
	write := map[string]func(*trace.Trace, io.Writer) error{".svg": (*trace.Trace).WriteSVG, ".mmd": mermaid, ".mermaid": mermaid, ".md": mermaid, ".txt": (*trace.Trace).WriteText}[filepath.Ext(path)]
	if write == nil {
		return nil, cli.Usagef("--trace-file: expected a name that ends in .svg, .mmd or .txt, got %q", path)
	}
	return write, nil
}

// draw writes the trace to a file.
func (t *Setup) draw(path string) error {
	write, err := drawing(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(t.App.Path(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("--trace-file: %w", err)
	}
	if err := errors.Join(write(t.Trace, file), file.Close()); err != nil {
		return fmt.Errorf("--trace-file: %w", err)
	}
	return nil
}
