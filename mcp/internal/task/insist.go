package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// ErrUnanswered is returned if the state of a task is unknown because its server could not be
// asked, for a temporary reason.
var ErrUnanswered = errors.New("the server cannot be asked about the task now")

const notFound = -32002 // code of servers before 2026-07-28, for resources and other things

// Passes reports whether a request about a task may succeed later: the connection, or a server that
// has the task, failed. Other errors are final: the task is unknown, or the server has no tasks.
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

// insist sends a request about a task and repeats it after a pause if it fails for a temporary
// reason.
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

// unreadable returns the error for an invalid task of the server. It is final: the server would
// send the same again.
func unreadable(err error) error {
	return &mcp.Error{Code: mcp.CodeInternalError, Message: err.Error()}
}
