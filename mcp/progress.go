package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const notificationProgress = "notifications/progress"

// Progress notifies the client of the progress of the running request (basic/patterns/progress):
// progress of total, in any unit. A total of 0 means unknown; message is shown with it and may be
// empty. Progress does nothing if the client did not ask for progress. Each call must increase
// progress, or it is dropped. The error reports that the client cannot be reached.
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

// A ProgressUpdate is one progress notification as a client receives it.
type ProgressUpdate struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitzero"` // 0 if unknown
	Message  string  `json:"message,omitempty"`
}
