package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
	form "github.com/junction-mcp/junction/mcp/internal/task"
	"github.com/junction-mcp/junction/state"
)

const (
	prefix   = "tasks/task/"
	holders  = "tasks/process/" // of leases: of processes that live
	maxTries = 20               // to change a task that others change
)

type (
	status = form.Status
	fault  = form.Fault
)

const (
	working       = form.Working
	inputRequired = form.InputRequired
	completed     = form.Completed
	cancelled     = form.Cancelled
	failed        = form.Failed
)

// A record is a task as it is stored.
type record struct {
	ID      string        `json:"id"`
	Status  status        `json:"status"`
	Message string        `json:"message,omitempty"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	TTL     time.Duration `json:"ttl"`
	Poll    time.Duration `json:"poll"`

	mcp.Grant                            // whose task it is, and which scopes it needs
	Caller    string                     `json:"caller,omitempty"` // whose room its result takes, as internal/share names callers
	Process   string                     `json:"process"`          // that runs it
	Call      *savedCall                 `json:"call,omitempty"`   // where another process can go on with it
	Asked     int                        `json:"asked"`            // requests to the client so far
	Inputs    map[string]json.RawMessage `json:"inputs"`           // those that wait
	Responses map[string]json.RawMessage `json:"responses"`        // that the tool did not take yet
	Result    json.RawMessage            `json:"result,omitempty"`
	Fault     *fault                     `json:"fault,omitempty"`
}

func (r *record) isOver() bool { return r.Status.IsOver() }

// A savedCall is a call that waits for a task of another server: whoever has it can go on to wait.
type savedCall struct {
	Params       json.RawMessage            `json:"params"`
	Capabilities *mcp.ClientCapabilities    `json:"capabilities,omitempty"`
	Client       *mcp.Implementation        `json:"client,omitempty"`
	State        map[string]json.RawMessage `json:"state"`
}

// errUnchanged says that a task is to stay as it is.
var errUnchanged = errors.New("unchanged")

// end ends a task that is not over.
func (r *record) end(s status) error {
	if r.isOver() {
		return errUnchanged
	}
	r.Status, r.Inputs, r.Responses = s, nil, nil
	r.TTL = max(r.TTL, time.Since(r.Created)+afterTime)
	return nil
}

// plain is a task without what depends on its status.
func (r *record) plain() *form.Task {
	ttl := float64(r.TTL.Milliseconds())
	return &form.Task{ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created.UTC().Format(time.RFC3339Nano),
		Updated: r.Updated.UTC().Format(time.RFC3339Nano), TTL: &ttl, Poll: float64(max(r.Poll.Milliseconds(), 1))}
}

// detailed is a task with all.
func (r *record) detailed() *form.Task {
	s := r.plain()
	switch r.Status {
	case inputRequired:
		s.Inputs = r.Inputs
	case completed:
		s.Result = r.Result
	case failed:
		s.Fault = r.Fault
	}
	return s
}

// find returns a task that the sender of a request may touch; all that a client reads or changes of a task goes through it.
// A task whose process died goes on in this one, if it can, or else has failed.
func (t *Tasks) find(ctx context.Context, id string, who *mcp.Principal) (*record, error) {
	r, _, err := t.read(ctx, id)
	if err != nil {
		return nil, err
	}
	switch err := r.Allows(ctx, who); {
	case errors.Is(err, mcp.ErrNotGranted):
		return nil, form.Unknown(id)
	case err != nil:
		return nil, err
	}
	if r.isOver() || t.lives(ctx, r.Process) {
		return r, nil
	}
	if r.Call != nil {
		next, _ := ctx.Value(handlerKey{}).(mcp.Handler)
		return t.takeOver(ctx, r, next)
	}
	before := r.Process
	return t.change(ctx, id, func(r *record) error {
		if r.isOver() || r.Process != before {
			return errUnchanged
		}
		r.Fault = &fault{Code: mcp.CodeInternalError, Message: "the process that ran the task ended"}
		r.Message = r.Fault.Message
		return r.end(failed)
	})
}

func (t *Tasks) read(ctx context.Context, id string) (*record, state.Version, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, "", err
	}
	e, err := s.Get(ctx, prefix+id)
	if errors.Is(err, state.ErrNotFound) {
		return nil, "", form.Unknown(id)
	}
	if err != nil {
		return nil, "", fmt.Errorf("task %s: %w", id, err)
	}
	r := new(record)
	if err := json.Unmarshal(e.Value, r); err != nil {
		return nil, "", fmt.Errorf("task %s: %w", id, err)
	}
	return r, e.Version, nil
}

// lives reports whether a process that runs tasks lives.
func (t *Tasks) lives(ctx context.Context, process string) bool {
	if process == t.process {
		return true
	}
	s, err := t.open(ctx)
	if err != nil {
		return true
	}
	hold, err := s.Acquire(ctx, holders+process, time.Second)
	if err != nil {
		return true // it has the lease, or it is not known
	}
	_ = s.Release(ctx, hold) // it ends by itself
	return false
}

// change changes a task that others may change, and returns it. Where do returns errUnchanged it stays as it is.
func (t *Tasks) change(ctx context.Context, id string, do func(*record) error) (*record, error) {
	for range maxTries {
		task, version, err := t.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if task.Responses == nil {
			task.Responses = map[string]json.RawMessage{}
		}
		if err := do(task); errors.Is(err, errUnchanged) {
			return task, nil
		} else if err != nil {
			return nil, err
		}
		task.Updated = time.Now()
		if err := t.put(ctx, task, version); !errors.Is(err, state.ErrConflict) {
			t.notifyListeners(id)
			return task, err
		}
	}
	return nil, fmt.Errorf("task %s: %w", id, state.ErrConflict)
}

// put stores a task in place of a version of it.
func (t *Tasks) put(ctx context.Context, task *record, old state.Version) error {
	value, err := json.Marshal(task)
	if err != nil {
		return err
	}
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	// One that is stopped when its time is over is there still for what that changes.
	w := state.Write{TTL: max(time.Until(task.Created.Add(task.TTL)), 0) + storeTime}
	if task.Owner != nil && (old == "" || task.isOver()) { // its time may be longer when it is over
		if _, err := s.Put(ctx, task.ownKey(), nil, w); err != nil {
			return err
		}
	}
	if task.isOver() {
		w.Owner = task.Caller
	}
	_, err = s.CompareAndSwap(ctx, prefix+task.ID, old, value, w)
	return err
}
