package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// Recover returns middleware that responds with an internal error if a Handler panics. It logs the
// panic with its stack to log; nil means slog.Default(). The client does not get the text of the
// panic. Transports and [mcp.Server] do the same. Recover is meant for Handlers that are called in
// process, and for middleware that should see the error. It does not catch panics in goroutines
// that a Handler starts.
func Recover(log *slog.Logger) mcp.Middleware {
	if log == nil {
		log = slog.Default()
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (result mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					log.ErrorContext(ctx, "mcp handler panicked", "method", plaintext.Line(req.Method, maxText),
						"panic", plaintext.Line(fmt.Sprint(p), maxText), "stack", string(debug.Stack()))
					result, err = mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "%s failed: the server's handler panicked", plaintext.Line(req.Method, maxText))
				}
			}()
			return next.Handle(ctx, req)
		})
	}
}
