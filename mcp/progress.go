package mcp

import (
	"context"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const notificationProgress = "notifications/progress"

// Progress notifies the client of the progress of the running request (basic/patterns/progress).
// The values progress and total have any common unit; a total of 0 means unknown. The message,
// which may be empty, is shown with them. Progress does nothing if the client did not ask for
// progress. A call is dropped unless progress has increased. An error means that the client cannot
// be reached.
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
