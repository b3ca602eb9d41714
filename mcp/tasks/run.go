package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

const (
	answerPause  = time.Second            // between two looks for responses that reached another process
	messagePause = 500 * time.Millisecond // between two changes of a task's message
	maxMessage   = 500                    // characters of it
	maxInputs    = 100                    // requests of a task that wait at a time
)

var (
	errCancelled = errors.New("the client cancelled the task")
	errTime      = errors.New("the task took longer than it may")
)

// A run is one call that is a task, or may become one.
type run struct {
	tasks  *Tasks
	next   mcp.Handler
	req    mcp.Request
	direct mcp.Peer // until it is a task

	ctx  context.Context
	stop context.CancelCauseFunc
	free func() bool // cuts the run off the request that it began with

	once   sync.Once
	fault  error         // of making it a task
	begun  chan struct{} // closed when it is a task
	ended  chan struct{} // closed when the tool returned
	result mcp.Result
	err    error

	mu       sync.Mutex
	task     *record       // nil: it is none yet
	answered chan struct{} // closed, and replaced, when there may be responses
	asked    int
	reported time.Time // when the message was last changed
}

// newRun prepares a call whose context outlives the request, once it is a task.
func (t *Tasks) newRun(ctx context.Context, req *mcp.Request, next mcp.Handler) *run {
	r := &run{tasks: t, next: next, req: *req, direct: req.Peer, begun: make(chan struct{}), ended: make(chan struct{}), answered: make(chan struct{})}
	// The request's bytes are used again when it is answered.
	r.req.Params = slices.Clone(req.Params)
	r.req.Arguments = slices.Clone(req.Arguments)
	r.req.Meta.ProgressToken = slices.Clone(req.Meta.ProgressToken)
	if r.req.Meta.ProgressToken == nil {
		r.req.Meta.ProgressToken = json.RawMessage(`0`) // progress is the task's message
	}
	r.req.Peer = r
	r.ctx, r.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	r.ctx = context.WithValue(r.ctx, runKey{}, r)
	r.free = context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	return r
}

type runKey struct{}

// Begin makes a task of the call that ctx is of, and reports whether it is one now: from here on the client does not
// wait, and asks about it. It is for tools that are declared with [Tool.Later]. Where the client does not know tasks
// it is false, and the call goes on as any other.
func Begin(ctx context.Context) (bool, error) {
	r, is := ctx.Value(runKey{}).(*run)
	if !is {
		return false, nil
	}
	return true, r.begin(ctx)
}

// begin makes the call a task, once.
func (r *run) begin(ctx context.Context) error {
	r.once.Do(func() { r.fault = r.store(ctx) })
	return r.fault
}

// store stores the task: a client may ask about it as soon as it hears of it.
func (r *run) store(ctx context.Context) error {
	now := time.Now()
	task := &record{ID: rand.Text(), Status: working, Created: now, Updated: now, TTL: r.tasks.options.TTL, Poll: r.tasks.options.Poll, Process: r.tasks.process}
	if p := r.req.Principal; p != nil {
		task.Issuer, task.Subject = p.Issuer, p.Subject
	}
	if err := r.tasks.enter(task.ID, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	select {
	case <-r.tasks.shown:
	case <-ctx.Done():
		r.tasks.leave(task.ID)
		return fmt.Errorf("the task cannot be stored: %w", context.Cause(ctx))
	}
	if err := r.tasks.put(ctx, task, ""); err != nil {
		r.tasks.leave(task.ID)
		return fmt.Errorf("the task cannot be stored: %w", err)
	}
	r.free()
	r.mu.Lock()
	r.task = task
	r.mu.Unlock()
	close(r.begun)
	return nil
}

// enter takes a task into those that run.
func (t *Tasks) enter(id string, r *run) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrClosed
	case len(t.running) >= t.options.MaxRunning:
		return mcp.Errorf(mcp.CodeInternalError, "%d tasks are running; try again later", len(t.running))
	}
	t.running[id] = r
	t.runs.Add(1)
	t.alive.Do(func() { t.runs.Add(1); go t.show() })
	return nil
}

func (t *Tasks) leave(id string) {
	t.mu.Lock()
	delete(t.running, id)
	t.mu.Unlock()
	t.runs.Done()
}

// show shows other processes that this one lives, until it is closed.
func (t *Tasks) show() {
	defer t.runs.Done()
	var once sync.Once
	for t.ctx.Err() == nil {
		err := state.While(t.ctx, t.options.Store, holders+t.process, t.lease, func(ctx context.Context, _ state.Hold) error {
			once.Do(func() { close(t.shown) })
			<-ctx.Done() // or the lease was lost, and is taken again
			return nil
		})
		if err == nil || t.ctx.Err() != nil {
			continue
		}
		t.options.Logger.Warn("other processes cannot be shown that this one runs tasks", "error", err)
		select {
		case <-time.After(answerPause):
		case <-t.ctx.Done():
		}
	}
}

// created is the result that tells the client of the task.
func (r *run) created() (mcp.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mcp.Result{Type: "task", Value: r.task.plain()}, nil
}

// start runs the tool.
func (r *run) start() {
	go func() {
		ctx, cancel := context.WithTimeoutCause(r.ctx, r.tasks.options.TTL, errTime)
		defer cancel()
		stopped := context.AfterFunc(r.tasks.ctx, func() { r.stop(ErrClosed) })
		defer stopped()
		r.result, r.err = r.handle(ctx)
		r.free()
		r.mu.Lock()
		task := r.task
		r.mu.Unlock()
		if task != nil {
			r.finish(ctx, task.ID)
			r.tasks.leave(task.ID)
		}
		r.stop(nil)
		close(r.ended)
	}()
}

// handle runs the tool, which may panic.
func (r *run) handle(ctx context.Context) (result mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.tasks.options.Logger.Error("mcp: panic in a task", "tool", r.req.Name, "panic", p, "stack", string(debug.Stack()))
			err = mcp.Errorf(mcp.CodeInternalError, "tool %q failed: the server's handler panicked", r.req.Name)
		}
	}()
	return r.next.Handle(ctx, &r.req)
}

// finish stores how the tool ended.
func (r *run) finish(ctx context.Context, id string) {
	var body json.RawMessage
	result, err := r.result, r.err
	if err == nil {
		body, err = result.Encoded()
		if result.Meta != nil {
			body = jsonrpc.With(body, "_meta", result.Meta)
		}
	}
	// A tool whose context ended returns that as its own failure.
	gaveUp := err != nil || string(jsonrpc.Get(body, "isError")) == "true"
	if cause := context.Cause(ctx); gaveUp && cause != nil {
		body, err = nil, cause
	}
	keep := func(err error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
		defer cancel()
		_, stored := r.tasks.change(ctx, id, func(task *record) error {
			s := completed
			switch {
			case errors.Is(err, errCancelled):
				s = cancelled
			case err != nil:
				s = failed
			}
			if err := task.end(s); err != nil {
				return err
			}
			if task.Result = body; s == failed {
				task.Result, task.Fault = nil, faultOf(err)
			}
			return nil
		})
		return stored
	}
	fault := keep(err)
	if errors.Is(fault, state.ErrTooLarge) || errors.Is(fault, state.ErrFull) {
		fault = keep(fmt.Errorf("the result cannot be stored: %w", fault))
	}
	if fault != nil {
		r.tasks.options.Logger.Error("the end of a task cannot be stored", "tool", r.req.Name, "task", id, "error", fault)
	}
}

// Notify implements [mcp.Peer]: of a task, progress becomes its message, and the rest is dropped.
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
		if task.isOver() {
			return errUnchanged
		}
		task.Message = plaintext.Line(text, maxMessage)
		return nil
	})
	return err
}

// Ask implements [mcp.Peer]: of a task, the client finds the request when it asks about the task.
func (r *run) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	r.mu.Lock()
	task := r.task
	r.asked++
	key := fmt.Sprintf("%s%d", q.Key, r.asked) // no key may come twice
	r.mu.Unlock()
	if task == nil {
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
		if task.isOver() {
			return errCancelled
		}
		if len(task.Inputs) >= maxInputs {
			return mcp.Errorf(mcp.CodeInternalError, "the task has %d requests that wait for the client", len(task.Inputs))
		}
		if task.Inputs == nil {
			task.Inputs = map[string]json.RawMessage{}
		}
		task.Inputs[key], task.Status = request, inputRequired
		return nil
	}); err != nil {
		return nil, err
	}
	return r.await(ctx, task.ID, key)
}

// await waits for the response to a request of the task, and takes it.
func (r *run) await(ctx context.Context, id, key string) (response json.RawMessage, err error) {
	ticker := time.NewTicker(answerPause)
	defer ticker.Stop()
	for {
		r.mu.Lock()
		answered := r.answered
		r.mu.Unlock()
		_, err := r.tasks.change(ctx, id, func(task *record) error {
			if task.isOver() {
				return errCancelled
			}
			if response = task.Responses[key]; response == nil {
				return errUnchanged
			}
			delete(task.Responses, key)
			return nil
		})
		if err != nil || response != nil {
			return response, err
		}
		select {
		case <-answered:
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
