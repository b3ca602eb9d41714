package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const notificationProgress = "notifications/progress"

// Progress notifies the client how far the running request has come
// (basic/patterns/progress): progress of total, in any unit; total 0 means
// unknown. message is shown with it; empty for none. It does nothing where the
// client asked for no progress. Calls must increase progress; what does not is
// dropped. The error says that the client cannot be reached.
func Progress(ctx context.Context, progress, total float64, message string) error {
	req := RequestFrom(ctx)
	if req == nil {
		return errNoRequest
	}
	if req.Meta.ProgressToken == nil {
		return nil
	}
	w := jsonrpc.NewObject(nil)
	w.Number("progress", progress)
	if total > 0 {
		w.Number("total", total)
	}
	if message != "" {
		w.String("message", message)
	}
	return notify(ctx, notificationProgress, w.Bytes())
}

// A ProgressUpdate is one message of progress, as a client gets it.
type ProgressUpdate struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitzero"` // 0: unknown
	Message  string  `json:"message,omitempty"`
}
