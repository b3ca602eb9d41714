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
	minPoll     = 50 * time.Millisecond // between two looks at a task, whatever its server says
	maxPoll     = 30 * time.Second
	maxInputs   = 100 // requests of a task that wait at a time
	maxLost     = 5   // requests in a row that may fail for a reason that passes, as a server that starts again
)

// A Waiter waits for a task of a server.
type Waiter struct {
	// Do sends a request about the task.
	Do func(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error)
	// Ask asks the client what the task asks.
	Ask func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
	// Report hears of the task each time that it was looked at, but for the last if that has nothing to say.
	Report func(ctx context.Context, n int, message string)
	// Listen, if not nil, makes a subscriptions/listen that lasts until ctx is done: a task that is notified of is seen
	// before the next look.
	Listen func(ctx context.Context, params json.RawMessage, peer mcp.Peer) error
	// Look, if not nil, sees the task each time that it was looked at.
	Look func(t *Task)
}

// Wait returns what comes of a task: [ErrCancelled] of one that was cancelled, an [*mcp.Error] of one that failed, is not
// known, or cannot be read, and [ErrUnanswered] of one of which the server says nothing. It looks after poll, or at once
// where that is 0.
func (w *Waiter) Wait(ctx context.Context, id string, poll time.Duration) (mcp.Result, error) {
	answered := map[string]bool{}
	var heard <-chan *Task // nil: nobody listens
	for n := 1; ; n++ {
		var t *Task
		if n > 1 || poll != 0 {
			if heard == nil && w.Listen != nil { // it is not over at once
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

// pause waits until it is time to look again, or a task is heard of, which counts no sooner than a look could.
func pause(ctx context.Context, poll time.Duration, heard <-chan *Task) (*Task, error) {
	if _, err := await(ctx, minPoll, nil); err != nil || poll <= minPoll {
		return nil, err
	}
	return await(ctx, min(poll, maxPoll)-minPoll, heard)
}

// await waits for a time, or for a task before that.
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

// answer responds to the requests of a task that nobody responded to yet.
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
