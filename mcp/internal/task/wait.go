package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	defaultPoll = time.Second
	minPoll     = 50 * time.Millisecond // minimum pause between two polls, even if the server wants a shorter one
	maxPoll     = 30 * time.Second
	maxInputs   = 100 // requests of one task that wait at the same time
	maxLost     = 5   // consecutive requests that may fail for a temporary reason, such as a restart
)

// A Waiter waits for a task of a server.
type Waiter struct {
	// Do sends a request about the task.
	Do func(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error)
	// Ask sends a request of the task to the client.
	Ask func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
	// Report is called after each poll, except after the last poll if it has no message.
	Report func(ctx context.Context, n int, message string)
	// Listen, if not nil, runs a subscriptions/listen until ctx is done. With a notification, the
	// Waiter need not wait for the next poll.
	Listen func(ctx context.Context, params json.RawMessage, peer mcp.Peer) error
	// Look, if not nil, is called with the task after each poll.
	Look func(t *Task)
}

// Wait returns the result of a task. The first poll is after the time poll, or at once if poll is
// 0. The error is [ErrCancelled] for a cancelled task, and [ErrUnanswered] if the server does not
// respond. It is an [*mcp.Error] for a task that failed, is unknown or is invalid.
func (w *Waiter) Wait(ctx context.Context, id string, poll time.Duration) (mcp.Result, error) {
	answered := map[string]bool{}
	var heard <-chan *Task // nil without a subscription
	for n := 1; ; n++ {
		var t *Task
		if n > 1 || poll != 0 {
			if heard == nil && w.Listen != nil { // the first poll showed that the task takes longer
				var stop func()
				heard, stop = w.hear(ctx, id)
				defer stop()
			}
			var err error
			if t, err = pause(ctx, cmp.Or(poll, defaultPoll), heard); err != nil {
				return mcp.Result{}, err
			}
		}
		if t == nil {
			result, err := w.insist(ctx, "tasks/get", Params(id), poll)
			if err != nil {
				return mcp.Result{}, err
			}
			if t, err = Of(&result); err != nil {
				return mcp.Result{}, unreadable(err)
			}
		}
		poll = t.Interval()
		if w.Look != nil {
			w.Look(t)
		}
		if t.Message != "" || !t.Status.IsOver() {
			w.Report(ctx, n, t.Message)
		}
		switch t.Status {
		case Working:
		case InputRequired:
			if err := w.answer(ctx, id, t.Inputs, answered); err != nil {
				return mcp.Result{}, err
			}
		case Completed:
			return mcp.Result{JSON: jsonrpc.Without(t.Result, "_meta", "resultType"), Meta: jsonrpc.Get(t.Result, "_meta")}, nil
		case Cancelled:
			return mcp.Result{}, ErrCancelled
		case Failed:
			return mcp.Result{}, t.Fault.Err()
		default:
			return mcp.Result{}, unreadable(fmt.Errorf("the server's task: status: expected one of the extension, got %.40q", t.Status))
		}
	}
}

// pause waits until the next poll or a notification, at least for minPoll.
func pause(ctx context.Context, poll time.Duration, heard <-chan *Task) (*Task, error) {
	if _, err := await(ctx, minPoll, nil); err != nil || poll <= minPoll {
		return nil, err
	}
	return await(ctx, min(poll, maxPoll)-minPoll, heard)
}

// await waits for the duration d, or until a task arrives on heard.
func await(ctx context.Context, d time.Duration, heard <-chan *Task) (*Task, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case t := <-heard:
		return t, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer responds to the requests of a task that have no response yet.
func (w *Waiter) answer(ctx context.Context, id string, requests map[string]json.RawMessage, answered map[string]bool) error {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(requests)), func(key string) bool { return answered[key] })
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > maxInputs {
		return fmt.Errorf("the task asks %d things at once", len(keys))
	}
	var mu sync.Mutex
	responses := map[string]json.RawMessage{}
	var asks []func() error
	for _, key := range keys {
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(requests[key], &q); err != nil {
			return fmt.Errorf("the task's request %q: %w", key, err)
		}
		asks = append(asks, func() error {
			response, err := w.Ask(ctx, mcp.ServerRequest{Key: key, Method: q.Method, Params: q.Params})
			mu.Lock()
			defer mu.Unlock()
			responses[key] = response
			return err
		})
	}
	if err := mcp.Parallel(asks...); err != nil {
		return err
	}
	encoded, err := json.Marshal(responses)
	if err != nil {
		return err
	}
	if _, err := w.insist(ctx, "tasks/update", jsonrpc.With(Params(id), "inputResponses", encoded), 0); err != nil {
		return err
	}
	for _, key := range keys {
		answered[key] = true
	}
	return nil
}
