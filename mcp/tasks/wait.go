package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

const cancelTime = 5 * time.Second // timeout for cancelling a task whose call was given up

// stateKey is the key of the request state for the task's id, between two rounds of the call that
// waits for the task.
const stateKey = "junction/task"

// ErrCancelled is the error for a task that was cancelled before it was done.
var ErrCancelled = task.ErrCancelled

// ErrUnanswered is wrapped by the error for a task whose server cannot be reached, or does not
// respond for some time. The task may continue; [Rejoin] and [Resume] wait for it again.
var ErrUnanswered = task.ErrUnanswered

// Capabilities returns the capabilities of a client that uses [Start], for [mcp.ClientOptions].
func Capabilities() mcp.ClientCapabilities {
	return mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{Extension: json.RawMessage(`{}`)}}
}

// WaitOptions holds the settings of [Wait].
type WaitOptions struct {
	// OnTask, if not nil, is called when a task begins. It is called again, with over set, when the
	// wait for the task has ended.
	OnTask func(ctx context.Context, tool, id string, over bool)
	// OnLook, if not nil, is called with the state of a task each time that the state was read; see
	// [Task.Status].
	OnLook func(ctx context.Context, id, status, message string)
	// All also waits for the tasks of callers that declared support for tasks. It is meant for a
	// Handler that cannot handle requests about these tasks, such as a gateway that stores no
	// tasks.
	All bool
	// Leave, if not nil, reports whether a task continues although its call ended with this cause.
	// By default, a task continues if its process ends ([ErrClosed]). Other tasks are cancelled.
	Leave func(cause error) bool
}

// Wait returns middleware for a client, or for a member of a gateway. It declares support for
// tasks, and waits for the tasks that calls become. So the caller need not support tasks. Requests
// of the task go to the caller, and the task's message becomes the progress of the call. If the
// call is given up, the task is cancelled. A caller that declared support for tasks gets the tasks
// itself.
func Wait(o WaitOptions) mcp.Middleware {
	if o.Leave == nil {
		o.Leave = func(cause error) bool { return errors.Is(cause, ErrClosed) } // another process continues the task
	}
	return func(next mcp.Handler) mcp.Handler {
		var known declared
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if again, is := ctx.Value(rejoinKey{}).(*rejoined); is && req.Method == methodResult && req.Peer != nil {
				again.waited = true
				ctx = context.WithValue(ctx, rejoinKey{}, nil) // another Wait inside must see only requests about the task
				named := *req
				named.Name = again.tool
				return await(ctx, o, &named, next, known.of(req.Meta.Capabilities), again.id, 0)
			}
			if ctx.Value(cancelKey{}) != nil && req.Method == "tasks/cancel" {
				named := *req
				named.Meta.Capabilities = known.of(req.Meta.Capabilities)
				return next.Handle(ctx, &named)
			}
			if req.Method != "tools/call" || req.Peer == nil || Declared(req.Meta.Capabilities) && !o.All {
				return next.Handle(ctx, req)
			}
			return wait(ctx, o, req, next, known.of(req.Meta.Capabilities))
		})
	}
}

const methodResult = "tasks/result" // sent only by a client to its own Wait

type (
	cancelKey struct{}
	rejoinKey struct{}
	rejoined  struct {
		tool, id string
		waited   bool
	}
)

// Rejoin waits again for a task that a call of a tool became, possibly in another process. It needs
// only the id from [WaitOptions].OnTask. The client must have [Wait] in its middleware, which
// handles the task as before. Requests to the server have the form that the server uses now, even
// if it used another one when the task began. The error is the same as for [Task.Wait].
func Rejoin(ctx context.Context, c *mcp.Client, tool, id string) (*mcp.CallToolResult, error) {
	again := &rejoined{tool: tool, id: id}
	result, err := c.Do(context.WithValue(ctx, rejoinKey{}, again), methodResult, task.Params(id))
	if !again.waited {
		return nil, errors.Join(errors.New("tasks: Rejoin: add tasks.Wait to the Middleware of the client"), err)
	}
	if err != nil {
		return nil, err
	}
	return toolResult(&result)
}

// Cancel requests the cancellation of a task from the server, like [Task.Cancel]. It is meant for a
// client that has [Wait] in its middleware.
func Cancel(ctx context.Context, c *mcp.Client, id string) error {
	_, err := c.Do(context.WithValue(ctx, cancelKey{}, true), "tasks/cancel", task.Params(id))
	return err
}

// A declared caches the last capabilities with support for tasks added, so that senders encode them
// only once.
type declared struct {
	last atomic.Pointer[[2]*mcp.ClientCapabilities] // as received, and with support for tasks
}

func (d *declared) of(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if last := d.last.Load(); last != nil && last[0] == c {
		return last[1]
	}
	with := task.Declare(c)
	d.last.Store(&[2]*mcp.ClientCapabilities{c, with})
	return with
}

func wait(ctx context.Context, o WaitOptions, req *mcp.Request, next mcp.Handler, capabilities *mcp.ClientCapabilities) (mcp.Result, error) {
	if id, _ := jsonrpc.Unquote(req.State.Get(stateKey)); id != "" { // an earlier round began the task
		return await(ctx, o, req, next, capabilities, id, 0)
	}
	call := *req
	call.Meta.Capabilities = capabilities
	result, err := next.Handle(ctx, &call)
	if err != nil || result.Type != "task" {
		return result, err
	}
	begun, err := task.Of(&result)
	if err != nil {
		return mcp.Result{}, err
	}
	if quoted, err := json.Marshal(begun.ID); err == nil {
		req.State.Set(stateKey, quoted)
	}
	if o.OnTask != nil {
		o.OnTask(ctx, req.Name, begun.ID, false)
	}
	return await(ctx, o, req, next, capabilities, begun.ID, cmp.Or(begun.Interval(), defaultPoll))
}

// await waits for the result of the task that the call became.
func await(ctx context.Context, o WaitOptions, req *mcp.Request, next mcp.Handler, capabilities *mcp.ClientCapabilities, id string, poll time.Duration) (mcp.Result, error) {
	w := &task.Waiter{Ask: req.Peer.Ask, Report: func(ctx context.Context, n int, message string) {
		p := jsonrpc.NewObject(nil)
		p.Number("progress", float64(n))
		if message != "" {
			p.String("message", message)
		}
		_ = req.Peer.Notify(ctx, "notifications/progress", p.Bytes()) // if the client cannot be reached, the wait fails anyway
	}}
	if o.OnLook != nil {
		w.Look = func(t *task.Task) { o.OnLook(ctx, t.ID, string(t.Status), t.Message) }
	}
	meta := req.Meta
	meta.Capabilities = capabilities
	do := func(ctx context.Context, method string, params json.RawMessage, peer mcp.Peer) (mcp.Result, error) {
		about := mcp.NewRequest(method, params)
		about.Meta, about.Peer, about.Caller, about.Principal, about.Session = meta, peer, req.Caller, req.Principal, req.Session
		return next.Handle(ctx, about)
	}
	w.Do = func(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error) {
		return do(ctx, method, params, req.Peer)
	}
	w.Listen = func(ctx context.Context, params json.RawMessage, peer mcp.Peer) error {
		_, err := do(ctx, "subscriptions/listen", params, peer)
		return err
	}
	result, err := w.Wait(ctx, id, poll)
	if errors.Is(err, mcp.ErrInputRequired) {
		return result, err // the next round continues with the task
	}
	if r, is := ctx.Value(runKey{}).(*run); is && ctx.Err() == nil {
		if moved := r.confirm(ctx); moved != nil {
			result, err = mcp.Result{}, moved
		}
	}
	if o.OnTask != nil {
		o.OnTask(ctx, req.Name, id, true)
	}
	if err != nil && ctx.Err() != nil && !o.Leave(context.Cause(ctx)) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		_, _ = w.Do(ctx, "tasks/cancel", task.Params(id)) // if this fails, the task ends by itself later
	}
	return result, err
}
