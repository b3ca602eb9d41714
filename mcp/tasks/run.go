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
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	form "github.com/junction-mcp/junction/mcp/internal/task"
	"github.com/junction-mcp/junction/state"
)

var (
	errCancelled = errors.New("the client cancelled the task")
	errTime      = errors.New("the task exceeded its time limit")
	errTaken     = errors.New("the task runs here already")
	errOver      = errors.New("the call is over, and cannot become a task")
	errMoved     = fmt.Errorf("another process continues the task: %w", ErrClosed)
)

// A run is one call that is a task or may become one.
type run struct {
	tasks  *Tasks
	next   mcp.Handler
	req    mcp.Request
	direct mcp.Peer // Peer of the call until it is a task
	within time.Duration
	user   string // the user whose share of the places the run uses
	list   string // the session whose list contains the task; empty if its owner has one, or none has

	ctx  context.Context
	stop context.CancelCauseFunc
	free func() bool // detaches the run from the context of its request

	asker *asker

	asks   atomic.Bool // set if the client got a request before the call was a task
	once   sync.Once
	fault  error         // error of the attempt to make the call a task
	begun  chan struct{} // closed when the call is a task
	ended  chan struct{} // closed when the tool has returned
	result mcp.Result
	err    error

	mu        sync.Mutex
	task      *record       // nil while the call is not a task
	ownership mcp.Ownership // grant of the task
	answered  chan struct{} // closed and replaced when responses may have arrived
	reported  time.Time     // time of the last change of the message
}

// newRun prepares a call. Once the call is a task, its context outlives the request.
func (t *Tasks) newRun(ctx context.Context, req *mcp.Request, next mcp.Handler) *run {
	r := &run{tasks: t, next: next, req: *req, direct: req.Peer, within: t.options.TTL, begun: make(chan struct{}), ended: make(chan struct{}), answered: make(chan struct{})}
	// The transport reuses the memory of the request after the response.
	r.req.Params = slices.Clone(req.Params)
	r.req.Arguments = slices.Clone(req.Arguments)
	r.req.Meta.ProgressToken = slices.Clone(req.Meta.ProgressToken)
	if r.req.Meta.ProgressToken == nil {
		r.req.Meta.ProgressToken = json.RawMessage(`0`) // progress becomes the task's message
	}
	r.req.Meta.Capabilities = form.Undeclare(req.Meta.Capabilities) // this package makes the task, so servers behind it must not
	r.req.Peer = r
	if r.req.State == nil {
		r.req.State = new(mcp.State)
	}
	r.asker = &asker{Context: context.WithoutCancel(ctx)}
	r.ctx, r.stop = context.WithCancelCause(r.asker)
	r.ctx = granted.Watch(context.WithValue(r.ctx, runKey{}, r), r.decided)
	r.ownership = mcp.OwnershipOf(ctx, req)
	if r.user = share.Of(ctx); req.Principal == nil {
		r.list = form.SessionOf(ctx)
	} else {
		r.user = share.Key(req.Principal.Issuer, req.Principal.Subject, "")
	}
	r.free = context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	return r
}

// decided records the called tool and the scopes that it needs. Code between the tasks and the tool
// decides these, when the task may already be stored.
func (r *run) decided(tool string, needs []string, decided bool) {
	r.mu.Lock()
	more := (&mcp.Principal{Scopes: r.ownership.Needs}).Lacks(needs)
	known := len(more) == 0 && r.ownership.Tool != "" && (r.ownership.Decided || !decided)
	if !r.ownership.Decided && (decided || r.ownership.Tool == "") {
		r.ownership.Tool, r.ownership.Decided = tool, decided
	}
	r.ownership.Needs = append(slices.Clone(r.ownership.Needs), more...)
	task, grant := r.task, r.ownership
	r.mu.Unlock()
	if task == nil || known {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), storeTime)
	defer cancel()
	if _, err := r.tasks.change(ctx, task.ID, func(task *record) error {
		task.Ownership = grant
		return nil
	}); err != nil { // without the change, the task needs all scopes of its owner
		r.tasks.options.Logger.Warn("the scopes that a task needs cannot be stored", "task", task.ID, "error", err)
	}
}

type runKey struct{}

// Begin makes the call of ctx a task, and reports whether it is a task. The client then no longer
// waits for the call, but requests the state of the task. Begin is meant for tools with
// [Tool.Later]. If the client does not support tasks, Begin returns false, and the call continues
// as usual.
func Begin(ctx context.Context) (bool, error) {
	r, is := ctx.Value(runKey{}).(*run)
	if !is {
		return false, nil
	}
	return true, r.begin(ctx)
}

// ID returns the id of the task that the call of ctx is, or "".
func ID(ctx context.Context) string {
	r, is := ctx.Value(runKey{}).(*run)
	if !is {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.task == nil {
		return ""
	}
	return r.task.ID
}

// begin makes the call a task, at most once.
func (r *run) begin(ctx context.Context) error {
	r.once.Do(func() { r.fault = r.store(ctx) })
	return r.fault
}

// store stores the task before the client learns its id, as the client may then request the task at
// once.
func (r *run) store(ctx context.Context) error {
	now := time.Now()
	task := &record{ID: rand.Text(), Status: working, Created: now, Updated: now, TTL: r.tasks.options.TTL, Poll: r.tasks.options.Poll, Process: r.tasks.process, Caller: r.user, Session: r.list}
	r.mu.Lock()
	task.Ownership = r.ownership
	r.mu.Unlock()
	if r.req.State.Get(stateKey) != nil {
		task.Call = &savedCall{Params: r.req.Params, Capabilities: r.req.Meta.Capabilities, Client: r.req.Meta.Client, State: r.req.State.All()}
	}
	if err := r.tasks.enter(task.ID, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := r.tasks.awaitShown(ctx)
	if err == nil {
		err = r.tasks.put(ctx, task, "")
	}
	if err != nil {
		r.tasks.leave(task.ID)
		return fmt.Errorf("the task cannot be stored: %w", err)
	}
	r.became(task)
	return nil
}

// became records that the call has become a task.
func (r *run) became(task *record) {
	r.free()
	r.mu.Lock()
	r.task = task
	r.mu.Unlock()
	close(r.begun)
}

// enter adds a task to the running tasks.
func (t *Tasks) enter(id string, r *run) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrClosed
	case t.running[id] != nil:
		return errTaken
	case !t.places.Take(r.user):
		return mcp.Errorf(mcp.CodeInternalError, "%d tasks are running; try again later", len(t.running))
	}
	t.running[id] = r
	t.runs.Add(1)
	t.alive.Do(func() { t.runs.Add(1); go t.show() })
	return nil
}

func (t *Tasks) leave(id string) {
	t.mu.Lock()
	t.places.Give(t.running[id].user)
	delete(t.running, id)
	t.mu.Unlock()
	t.runs.Done()
}

// show holds the lease that shows that this process is alive, until the Tasks is closed.
func (t *Tasks) show() {
	defer t.runs.Done()
	var once sync.Once
	warned := false // since the lease was last held
	for t.ctx.Err() == nil {
		store, err := t.open(t.ctx)
		if err == nil {
			err = state.While(t.ctx, store, holders+t.process, t.lease, func(ctx context.Context, _ state.Hold) error {
				once.Do(func() { close(t.shown) })
				warned = false
				<-ctx.Done() // until Close, or until the lease is lost; show then takes it again
				return nil
			})
		}
		if err == nil || t.ctx.Err() != nil {
			continue
		}
		if !warned {
			warned = true
			t.options.Logger.Warn("other processes cannot be shown that this one runs tasks", "error", err)
		}
		_ = pause(t.ctx) // the loop ends with ctx
	}
}

// awaitShown waits until this process holds the lease. Without it, other processes would take over
// the tasks of this process.
func (t *Tasks) awaitShown(ctx context.Context) error {
	select {
	case <-t.shown:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// created returns the result with which the client learns about the task.
func (r *run) created() (mcp.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mcp.Result{Type: string(revision.Task), Value: r.task.plain()}, nil
}

// start runs the tool in a goroutine.
func (r *run) start() {
	go func() {
		ctx, cancel := context.WithTimeoutCause(r.ctx, r.within, errTime)
		defer cancel()
		stopped := context.AfterFunc(r.tasks.ctx, func() { r.stop(ErrClosed) })
		defer stopped()
		r.result, r.err = r.handle(ctx)
		r.once.Do(func() { r.fault = errOver }) // waits for a begin in progress
		r.free()
		r.mu.Lock()
		task := r.task
		r.mu.Unlock()
		if task != nil {
			r.finish(ctx, task)
			r.tasks.leave(task.ID)
		}
		r.stop(nil)
		close(r.ended)
	}()
}

// handle runs the tool and recovers from a panic.
func (r *run) handle(ctx context.Context) (result mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.tasks.options.Logger.Error("mcp: panic in a task", "tool", r.req.Name, "panic", p, "stack", string(debug.Stack()))
			err = mcp.Errorf(mcp.CodeInternalError, "tool %q failed: the server's handler panicked", r.req.Name)
		}
	}()
	return r.next.Handle(ctx, &r.req)
}

// finish stores the result of the tool. While the store cannot be reached, it tries again until the
// process ends or the task expires, because no other process has the result.
func (r *run) finish(ctx context.Context, task *record) {
	var body json.RawMessage
	result, err := r.result, r.err
	if err == nil {
		body, err = result.Encoded()
		if result.Meta != nil {
			body = jsonrpc.With(body, "_meta", result.Meta)
		}
	}
	// If the context of a tool ends, the tool returns that as a failure of its own.
	gaveUp := err != nil || string(jsonrpc.Get(body, "isError")) == "true"
	if cause := context.Cause(ctx); gaveUp && cause != nil {
		body, err = nil, cause
	}
	keep := func(err error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
		defer cancel()
		_, stored := r.tasks.change(ctx, task.ID, func(task *record) error {
			s := completed
			switch {
			case errors.Is(err, errCancelled):
				s = cancelled
			case err != nil:
				s = failed
			}
			if err != nil && task.Process != r.tasks.process || task.Call != nil && errors.Is(err, ErrClosed) {
				return errUnchanged // another process continues the task
			}
			if err := task.end(s); err != nil {
				return err
			}
			if task.Result = body; s == failed {
				task.Result, task.Fault = nil, form.FaultOf(err)
				task.Message = plaintext.Line(task.Fault.Message, maxMessage)
			}
			return nil
		})
		return stored
	}
	fault := keep(err)
	expiry, done := context.WithDeadline(r.tasks.ctx, task.Created.Add(task.TTL+storeTime))
	defer done()
	for passes(fault) && pause(expiry) == nil {
		fault = keep(err)
	}
	if errors.Is(fault, state.ErrTooLarge) || errors.Is(fault, state.ErrFull) {
		fault = keep(fmt.Errorf("the result cannot be stored: %w", fault))
	}
	if fault != nil {
		r.tasks.options.Logger.Error("the end of a task cannot be stored", "tool", r.req.Name, "task", task.ID, "error", fault)
	}
}

// confirm returns an error if the task of the call has ended, or if another process continues it, so
// that only one process reports the result. It waits for a store that cannot be reached.
func (r *run) confirm(ctx context.Context) error {
	r.mu.Lock()
	task := r.task
	r.mu.Unlock()
	if task == nil {
		return nil
	}
	for {
		now, _, err := r.tasks.read(ctx, task.ID)
		switch {
		case passes(err):
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		case err != nil: // the task expired
			return nil
		case now.Status == cancelled:
			return errCancelled
		case now.isOver() || now.Process != r.tasks.process:
			return errMoved
		}
		return nil
	}
}

// passes reports whether an operation on the store that failed may succeed later.
func passes(err error) bool {
	return errors.Is(err, state.ErrUnavailable) || errors.Is(err, state.ErrConflict) || errors.Is(err, context.DeadlineExceeded)
}

// pause waits for a moment, or returns the cause that ends ctx.
func pause(ctx context.Context) error {
	select {
	case <-time.After(answerPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
