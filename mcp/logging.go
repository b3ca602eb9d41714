package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const notificationMessage = "notifications/message"

// A LogLevel is a severity as in RFC 5424 (server/utilities/logging).
type LogLevel string

// The levels, the least severe first.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

// Severity returns the rank of the level, from 1 for debug to 8 for emergency. It returns 0 for an
// unknown level.
func (l LogLevel) Severity() int {
	switch l {
	case LogDebug:
		return 1
	case LogInfo:
		return 2
	case LogNotice:
		return 3
	case LogWarning:
		return 4
	case LogError:
		return 5
	case LogCritical:
		return 6
	case LogAlert:
		return 7
	case LogEmergency:
		return 8
	}
	return 0
}

// A LogMessage is a log message from a server.
type LogMessage struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// Log sends a log message to the client of the running request, if the client wants messages of
// this severity. The data are any value that JSON can represent; they must not contain secrets. Log
// fails if the data cannot be encoded, if the level is unknown, or if the client cannot be reached.
//
// Logging to clients is deprecated in revision 2026-07-28 (SEP-2577). Clients that request messages
// still get them. For diagnosis, use log/slog or traces.
func Log(ctx context.Context, level LogLevel, data any) error { return LogWith(ctx, "", level, data) }

// LogWith is like [Log]. It also sends the name of the logger that the message comes from, which
// may be empty.
func LogWith(ctx context.Context, logger string, level LogLevel, data any) error {
	req := RequestFrom(ctx)
	if req == nil {
		return errNoRequest
	}
	if level.Severity() == 0 {
		return fmt.Errorf("log level %q: expected one of debug, info, notice, warning, error, critical, alert, emergency", level)
	}
	if wanted := req.Meta.LogLevel.Severity(); wanted == 0 || level.Severity() < wanted {
		return nil
	}
	w := jsonrpc.NewObject(nil)
	w.String("level", string(level))
	if err := schema.EncodeMember(&w, "data", data); err != nil {
		return fmt.Errorf("log data: %w", err)
	}
	if logger != "" {
		w.String("logger", logger)
	}
	return notify(ctx, notificationMessage, w.Bytes())
}
