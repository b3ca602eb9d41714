package tasks

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

const (
	answerPause  = time.Second            // interval of checks for responses that reached another process
	messagePause = 500 * time.Millisecond // minimum time between two changes of a task's message
	maxMessage   = 500                    // maximum characters of the message
	maxInputs    = 100                    // maximum pending requests of a task
)

// Notify implements [mcp.Peer]. Once the call is a task, progress becomes the task's message, and
// other notifications are dropped.
func (r *run) Notify(ctx context.Context, method string, params json.RawMessage) error {
	r.mu.Lock()
	task, now := r.task, time.Now()
	due := now.Sub(r.reported) >= messagePause
	if task != nil && due {
		r.reported = now
	}
	r.mu.Unlock()
	if task == nil {
		return r.direct.Notify(ctx, method, params)
	}
	text, _ := jsonrpc.Unquote(jsonrpc.Get(params, "message"))
	if method != "notifications/progress" || text == "" || !due {
		return nil
	}
	_, err := r.tasks.change(ctx, task.ID, func(task *record) error {
		if task.isOver() || task.Process != r.tasks.process {
			return errUnchanged
		}
		task.Message = plaintext.Line(text, maxMessage)
		return nil
	})
	return err
}

// Ask implements [mcp.Peer]. Once the call is a task, the client gets the request in the task's
// state.
func (r *run) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	r.mu.Lock()
	task, key := r.task, ""
	r.mu.Unlock()
	if task == nil {
		r.asks.Store(true)
		return r.direct.Ask(ctx, q)
	}
	if err := r.req.Meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	w := jsonrpc.NewObject(nil)
	w.String("method", q.Method)
	if q.Params != nil {
		w.Raw("params", q.Params)
	}
	request := w.Bytes()
	if _, err := r.tasks.change(ctx, task.ID, func(task *record) error {
		switch {
		case task.isOver():
			return errCancelled
		case task.Process != r.tasks.process:
			return errMoved
		}
		if len(task.Inputs) >= maxInputs {
			return mcp.Errorf(mcp.CodeInternalError, "the task has %d requests that wait for the client", len(task.Inputs))
		}
		if task.Inputs == nil {
			task.Inputs = map[string]json.RawMessage{}
		}
		task.Asked++ // keys must be unique
		key = strconv.Itoa(task.Asked)
		task.Inputs[key], task.Status = request, inputRequired
		return nil
	}); err != nil {
		return nil, err
	}
	response, err := r.await(ctx, task.ID, key)
	if err != nil {
		return nil, err
	}
	return loose.ReadAnswer(ctx, r.tasks.options.Logger, q.Method, q.Params, response), nil
}

// ReleaseStream does the same as [mcp.ReleaseStream] while the call is not a task.
func (r *run) ReleaseStream() {
	r.mu.Lock()
	task := r.task
	r.mu.Unlock()
	if d, ok := mcp.PeerAs[interface{ ReleaseStream() }](r.direct); ok && task == nil {
		d.ReleaseStream()
	}
}

// await waits for the response to a request of the task, and removes it from the task.
func (r *run) await(ctx context.Context, id, key string) (response json.RawMessage, err error) {
	ticker := time.NewTicker(answerPause)
	defer ticker.Stop()
	for {
		r.mu.Lock()
		answered := r.answered
		r.mu.Unlock()
		_, err := r.tasks.change(ctx, id, func(task *record) error {
			switch {
			case task.isOver():
				return errCancelled
			case task.Process != r.tasks.process:
				return errMoved
			}
			if response = task.Responses[key]; response == nil {
				return errUnchanged
			}
			delete(task.Responses, key)
			return nil
		})
		switch {
		case response != nil && (err == nil || passes(err)): // it may still be stored, which harms nothing
			return response, nil
		case err != nil && !passes(err):
			return nil, err
		}
		select {
		case <-answered:
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
