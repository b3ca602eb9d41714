package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// ErrUnanswered is the error if the state of a task is unknown because its server temporarily does
// not respond.
var ErrUnanswered = errors.New("the server cannot be asked about the task now")

const notFound = -32002 // code of servers before 2026-07-28, for resources and other objects

// Passes reports whether a request about a task may succeed later, because the connection or a
// server behind it failed. Other errors are final: the task is unknown, or the server has no tasks.
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

// insist sends a request about a task. If it fails for a temporary reason, insist repeats it after
// a pause.
func (w *Waiter) insist(ctx context.Context, method string, params json.RawMessage, poll time.Duration) (mcp.Result, error) {
	for lost := 1; ; lost++ {
		result, err := w.Do(ctx, method, params)
		if errors.Is(err, mcp.ErrNotSent) {
			err = begunError{err}
		}
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

// A begunError is the error of a request about a task that was not sent. It is no [mcp.ErrNotSent],
// because the server has got the call that became the task.
type begunError struct{ error }

func (e begunError) Is(target error) bool {
	return target != mcp.ErrNotSent && errors.Is(e.error, target)
}

func (e begunError) As(target any) bool { return errors.As(e.error, target) }

// unreadable returns the error for an invalid task of the server. It is final, as the server would
// send the same task again.
func unreadable(err error) error {
	return &mcp.Error{Code: mcp.CodeInternalError, Message: err.Error()}
}
