package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	minPoll    = 50 * time.Millisecond // between two looks at a task, whatever its server says
	maxPoll    = 30 * time.Second
	cancelTime = 5 * time.Second // to cancel a task whose call was given up
)

// stateKey is where the id of a task is kept between two rounds of the call that waits for it.
const stateKey = "junction/task"

// ErrCancelled is the error of a task that was cancelled before it was done.
var ErrCancelled = errors.New("the task was cancelled")

// Capabilities declare that a client knows tasks: for [mcp.ClientOptions], together with [Start].
func Capabilities() mcp.ClientCapabilities {
	return mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{Extension: json.RawMessage(`{}`)}}
}

// WaitOptions say who hears of tasks that are waited for.
type WaitOptions struct {
	// OnTask, if not nil, hears of each task when it begins, and, with over, when nobody waits for it any more.
	OnTask func(ctx context.Context, tool, id string, over bool)
}

// Wait returns middleware for the side of the client, or around a member of a gateway: it declares that it knows
// tasks, and waits for those that calls of tools become, so that whoever calls need not know them. What a task asks
// is asked of the caller, its message is the call's progress, and a call that is given up cancels its task.
func Wait(o WaitOptions) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method != "tools/call" || req.Peer == nil {
				return next.Handle(ctx, req)
			}
			return wait(ctx, o, req, next)
		})
	}
}

func wait(ctx context.Context, o WaitOptions, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	w := &waiter{ask: req.Peer.Ask, report: func(ctx context.Context, n int, message string) {
		p := jsonrpc.NewObject(nil)
		p.Number("progress", float64(n))
		if message != "" {
			p.String("message", message)
		}
		_ = req.Peer.Notify(ctx, "notifications/progress", p.Bytes()) // who cannot be reached cannot be waited for either
	}}
	meta := req.Meta
	meta.Capabilities = withTasks(meta.Capabilities)
	w.do = func(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error) {
		about := mcp.NewRequest(method, params)
		about.Meta, about.Peer, about.Caller, about.Principal, about.Session = meta, req.Peer, req.Caller, req.Principal, req.Session
		return next.Handle(ctx, about)
	}
	id, _ := jsonrpc.Unquote(req.State.Get(stateKey))
	poll := time.Duration(0)
	if id == "" { // else a round before this one began it
		call := *req
		call.Meta = meta
		result, err := next.Handle(ctx, &call)
		if err != nil || result.Type != "task" {
			return result, err
		}
		var s shown
		if err := decode(&result, &s); err != nil {
			return mcp.Result{}, err
		}
		id, poll = s.ID, time.Duration(s.Poll)*time.Millisecond
		if quoted, err := json.Marshal(id); err == nil {
			req.State.Set(stateKey, quoted)
		}
		if o.OnTask != nil {
			o.OnTask(ctx, req.Name, id, false)
		}
	}
	result, err := w.wait(ctx, id, poll)
	if errors.Is(err, mcp.ErrInputRequired) {
		return result, err // the next round goes on with the task
	}
	if o.OnTask != nil {
		o.OnTask(ctx, req.Name, id, true)
	}
	if err != nil && ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		_, _ = w.do(ctx, "tasks/cancel", taskParams(id)) // it ends by itself, too
	}
	return result, err
}

// withTasks are capabilities with that of tasks.
func withTasks(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if Declared(c) {
		return c
	}
	var all mcp.ClientCapabilities
	if c != nil {
		all = *c
	}
	all.Extensions = maps.Clone(all.Extensions)
	if all.Extensions == nil {
		all.Extensions = map[string]json.RawMessage{}
	}
	all.Extensions[Extension] = json.RawMessage(`{}`)
	return &all
}

func decode(result *mcp.Result, into *shown) error {
	body, err := result.Encoded()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the server's task: %w", err)
	}
	if into.ID == "" || len(into.ID) > maxID {
		return errors.New("the server's task has no id")
	}
	return nil
}

func taskParams(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", id)
	return w.Bytes()
}

// A waiter waits for a task of a server.
type waiter struct {
	do     func(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error)
	ask    func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
	report func(ctx context.Context, n int, message string)
}

// wait returns what comes of a task. It looks after poll, or at once where that is 0.
func (w *waiter) wait(ctx context.Context, id string, poll time.Duration) (mcp.Result, error) {
	answered := map[string]bool{}
	for n := 1; ; n++ {
		if n > 1 || poll != 0 {
			pause := time.NewTimer(min(max(cmp.Or(poll, defaultPoll), minPoll), maxPoll))
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return mcp.Result{}, context.Cause(ctx)
			}
		}
		result, err := w.do(ctx, "tasks/get", taskParams(id))
		if err != nil {
			return mcp.Result{}, err
		}
		var s shown
		if err := decode(&result, &s); err != nil {
			return mcp.Result{}, err
		}
		poll = time.Duration(s.Poll) * time.Millisecond
		if s.Message != "" || s.Status == working || s.Status == inputRequired {
			w.report(ctx, n, s.Message)
		}
		switch s.Status {
		case completed:
			meta := jsonrpc.Get(s.Result, "_meta")
			return mcp.Result{JSON: jsonrpc.Without(s.Result, "_meta"), Meta: meta}, nil
		case cancelled:
			return mcp.Result{}, ErrCancelled
		case failed:
			if s.Fault == nil {
				s.Fault = &fault{Code: mcp.CodeInternalError, Message: "the task failed"}
			}
			return mcp.Result{}, &mcp.Error{Code: s.Fault.Code, Message: s.Fault.Message, Data: s.Fault.Data}
		case inputRequired:
			if err := w.answer(ctx, id, s.Inputs, answered); err != nil {
				return mcp.Result{}, err
			}
		}
	}
}

// answer responds to the requests of a task that nobody responded to yet.
func (w *waiter) answer(ctx context.Context, id string, requests map[string]json.RawMessage, answered map[string]bool) error {
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
			response, err := w.ask(ctx, mcp.ServerRequest{Key: key, Method: q.Method, Params: q.Params})
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
	if _, err := w.do(ctx, "tasks/update", jsonrpc.With(taskParams(id), "inputResponses", encoded)); err != nil {
		return err
	}
	for _, key := range keys {
		answered[key] = true
	}
	return nil
}
