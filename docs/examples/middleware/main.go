// Middleware logs every request to a server, and further details of tool calls.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// Person is the person to greet.
type Person struct {
	Name string `json:"name" doc:"Name to greet"`
}

func logging(logger *slog.Logger) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			logger.Info("MCP method started", "method", req.Method, "has_params", req.Params != nil)
			if req.Method == "tools/call" {
				logger.Info("Calling tool", "name", req.Name, "args", req.Arguments)
			}
			start := time.Now()
			result, err := next.Handle(ctx, req)
			took := time.Since(start).Milliseconds()
			if err != nil {
				logger.Error("MCP method failed", "method", req.Method, "duration_ms", took, "err", err)
				return result, err
			}
			logger.Info("MCP method completed", "method", req.Method, "duration_ms", took)
			if called, err := result.CallTool(); err == nil && req.Method == "tools/call" {
				logger.Info("tool result", "isError", called.IsError, "structuredContent", called.StructuredContent)
			}
			return result, nil
		})
	}
}

func newHandler(logger *slog.Logger) mcp.Handler {
	s := mcp.NewServer("logging-example", "1.0.0")
	mcp.AddToolWith(s, mcp.Tool{Name: "greet", Description: "Greet someone with logging."},
		func(_ context.Context, p Person) (string, error) { return "Hello, " + p.Name + "!", nil })
	return mcp.Chain(s, logging(logger))
}

func main() {
	c := mcp.NewClient(newHandler(slog.Default()))
	defer c.Close()
	text, err := mcp.Call[string](context.Background(), c, "greet", Person{"World"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Tool result:", text)
}
