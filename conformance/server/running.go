package main

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/mcp"
)

// pause is the time between two notifications. The scenarios require it.
const pause = 50 * time.Millisecond

// addRunningTools registers the tools that send notifications, and the tool that disconnects.
func addRunningTools(s *mcp.Server) {
	mcp.AddToolWith(s, about("test_tool_with_logging", "Logs three times, with pauses."), logThrice)
	mcp.AddToolWith(s, about("test_tool_with_progress", "Reports progress three times, with pauses."), progressThrice)
	mcp.AddToolWith(s, about("test_reconnection", "Closes the stream of its call; the result is there on reconnection."), reconnection)
}

func logThrice(ctx context.Context, _ struct{}) (string, error) {
	for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := idle.Wait(ctx, pause); err != nil {
				return "", err
			}
		}
		if err := mcp.Log(ctx, mcp.LogInfo, text); err != nil {
			return "", err
		}
	}
	return "Tool with logging executed successfully", nil
}

func progressThrice(ctx context.Context, _ struct{}) (string, error) {
	for i, progress := range []float64{0, 50, 100} {
		if i > 0 {
			if err := idle.Wait(ctx, pause); err != nil {
				return "", err
			}
		}
		if err := mcp.Progress(ctx, progress, 100, ""); err != nil {
			return "", err
		}
	}
	return "Tool with progress executed successfully", nil
}

func reconnection(ctx context.Context, _ struct{}) (string, error) {
	mcp.ReleaseStream(ctx)
	if err := idle.Wait(ctx, 2*pause); err != nil {
		return "", err
	}
	return "Reconnection test completed successfully", nil
}
