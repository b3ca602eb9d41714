package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// ErrUnanswered is why nothing is known of a task: its server could not be asked, for a reason that passes.
var ErrUnanswered = errors.New("the server cannot be asked about the task now")

const notFound = -32002 // as servers before 2026-07-28 have it, of resources and other things

// Passes reports whether a request about a task may succeed later: whether the connection, or a server that has the task,
// is at fault. The other errors are final: the task is unknown, or the server has none.
func Passes(err error) bool {
	var e *mcp.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code {
	case mcp.CodeInvalidParams, notFound, mcp.CodeMethodNotFound, mcp.CodeInvalidRequest, mcp.CodeParseError, mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedRevision:
		return false
	}
	return true
}

// insist makes a request about a task, and again after a pause where it fails for a reason that passes.
func (w *Waiter) insist(ctx context.Context, method string, params json.RawMessage, poll time.Duration) (mcp.Result, error) {
	for lost := 1; ; lost++ {
		result, err := w.Do(ctx, method, params)
		switch {
		case err == nil || ctx.Err() != nil || !Passes(err):
			return result, err
		case lost > maxLost:
			return mcp.Result{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		if _, err := await(ctx, min(max(poll, defaultPoll), maxPoll), nil); err != nil {
			return mcp.Result{}, err
		}
	}
}

// unreadable is the error for what a server says of a task and cannot be read: asked again, it says the same.
func unreadable(err error) error {
	return &mcp.Error{Code: mcp.CodeInternalError, Message: err.Error()}
}
