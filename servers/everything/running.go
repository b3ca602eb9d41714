package everything

import (
	"context"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/mcp"
)

type countInput struct {
	Steps    int `json:"steps,omitempty" doc:"The number of steps." min:"1" max:"100" default:"5"`
	Duration int `json:"milliseconds,omitempty" doc:"The time for all steps together, in milliseconds." min:"0" max:"60000" default:"500"`
}

type waitInput struct {
	Duration int `json:"milliseconds,omitempty" doc:"The time to wait, in milliseconds." min:"0" max:"600000" default:"10000"`
}

type logInput struct {
	Message string `json:"message,omitempty" doc:"The message to write." default:"Something happened"`
}

// addRunningTools registers tools that take time, report progress or log.
func addRunningTools(s *mcp.Server) {
	mcp.AddToolWith(s, look("count-slowly", "Count slowly", "Count up to a number and report progress at every step."), countSlowly)
	mcp.AddToolWith(s, look("wait", "Wait", "Wait for some time. Cancel the call to test cancellation."), wait)
	mcp.AddToolWith(s, look("log", "Log at every level", "Write one log message at each of the eight levels. The client receives those at or above its level."), logAll)
}

func countSlowly(ctx context.Context, in countInput) (string, error) {
	step := time.Duration(in.Duration) * time.Millisecond / time.Duration(in.Steps)
	for i := range in.Steps {
		if err := idle.Wait(ctx, step); err != nil {
			return "", err
		}
		if err := mcp.Progress(ctx, float64(i+1), float64(in.Steps), fmt.Sprintf("step %d of %d", i+1, in.Steps)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Counted to %d.", in.Steps), nil
}

func wait(ctx context.Context, in waitInput) (string, error) {
	if err := mcp.Progress(ctx, 0, float64(in.Duration), "waiting"); err != nil {
		return "", err
	}
	if err := idle.Wait(ctx, time.Duration(in.Duration)*time.Millisecond); err != nil {
		return "", err
	}
	return fmt.Sprintf("Waited %d milliseconds.", in.Duration), nil
}

func logAll(ctx context.Context, in logInput) (string, error) {
	levels := []mcp.LogLevel{
		mcp.LogDebug, mcp.LogInfo, mcp.LogNotice, mcp.LogWarning,
		mcp.LogError, mcp.LogCritical, mcp.LogAlert, mcp.LogEmergency,
	}
	for _, level := range levels {
		if err := mcp.LogWith(ctx, "everything", level, map[string]string{"message": in.Message}); err != nil {
			return "", err
		}
	}
	return "Wrote eight log messages, from debug to emergency.", nil
}
