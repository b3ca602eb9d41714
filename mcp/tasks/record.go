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
	holders  = "tasks/process/" // prefix of the leases of live processes
	maxTries = 20               // maximum attempts to change a task that other processes also change
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

// A record is the stored form of a task.
type record struct {
	ID      string        `json:"id"`
	Status  status        `json:"status"`
	Message string        `json:"message,omitempty"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	TTL     time.Duration `json:"ttl"`
	Poll    time.Duration `json:"poll"`

	mcp.Ownership                            // owner of the task, and the scopes that it needs
	Caller        string                     `json:"caller,omitempty"`  // the caller whose share of the limits the result counts for; see internal/share
	Session       string                     `json:"session,omitempty"` // without an owner: the session that lists the task
	Process       string                     `json:"process"`           // the process that runs the task
	Call          *savedCall                 `json:"call,omitempty"`    // set if another process can continue the task
	Asked         int                        `json:"asked"`             // number of requests to the client so far
	Inputs        map[string]json.RawMessage `json:"inputs"`            // pending requests
	Responses     map[string]json.RawMessage `json:"responses"`         // responses that the tool has not read yet
	Result        json.RawMessage            `json:"result,omitempty"`
	Fault         *fault                     `json:"fault,omitempty"`
}

func (r *record) isOver() bool { return r.Status.IsOver() }

// A savedCall is a call that waits for a task of another server. Any process that reads it can
// continue to wait.
type savedCall struct {
	Params       json.RawMessage            `json:"params"`
	Capabilities *mcp.ClientCapabilities    `json:"capabilities,omitempty"`
	Client       *mcp.Implementation        `json:"client,omitempty"`
	State        map[string]json.RawMessage `json:"state"`
}

// errUnchanged is the error of a change that must leave the task unchanged.
var errUnchanged = errors.New("unchanged")

// end ends a task. It returns errUnchanged if the task has ended already.
func (r *record) end(s status) error {
	if r.isOver() {
		return errUnchanged
	}
	r.Status, r.Inputs, r.Responses = s, nil, nil
	r.TTL = max(r.TTL, time.Since(r.Created)+afterTime)
	return nil
}

// plain returns the task in the form for clients, without the members that depend on its status.
func (r *record) plain() *form.Task {
	ttl := float64(r.TTL.Milliseconds())
	return &form.Task{ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created.UTC().Format(time.RFC3339Nano),
		Updated: r.Updated.UTC().Format(time.RFC3339Nano), TTL: &ttl, Poll: float64(max(r.Poll.Milliseconds(), 1))}
}

// detailed returns the task in the form for clients, with all members.
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

// find returns a task if who may access it. All reads and changes by clients use find. If the
// process of the task died, the task continues in this process if possible. Otherwise it has
// failed.
func (t *Tasks) find(ctx context.Context, id string, who *mcp.Principal) (*record, error) {
	r, _, err := t.read(ctx, id)
	if err != nil {
		return nil, err
	}
	switch err := r.Allows(ctx, who); {
	case errors.Is(err, mcp.ErrNotOwner):
		return nil, form.Unknown(id)
	case err != nil:
		return nil, err
	}
	if r.isOver() || t.isRunning(ctx, r) {
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

// isRunning reports whether a process runs the task. The task of this process does not run if the store
// lost its end, as a failover may.
func (t *Tasks) isRunning(ctx context.Context, task *record) bool {
	if task.Process == t.process {
		return t.runOf(task.ID) != nil
	}
	s, err := t.open(ctx)
	if err != nil {
		return true
	}
	hold, err := s.Acquire(ctx, holders+task.Process, time.Second)
	if err != nil {
		return true // the process holds the lease, or the store failed
	}
	_ = s.Release(ctx, hold) // the lease expires anyway
	return false
}

// change changes a task that other processes may also change, and returns it. If do returns
// errUnchanged, the task stays unchanged.
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

// put stores a task in place of an older version.
func (t *Tasks) put(ctx context.Context, task *record, old state.Version) error {
	value, err := json.Marshal(task)
	if err != nil {
		return err
	}
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	// The additional time is for the last change of a task that is stopped when its TTL is over.
	w := state.Write{TTL: max(time.Until(task.Created.Add(task.TTL)), 0) + storeTime}
	if (task.Owner != nil || task.Session != "") && (old == "" || task.isOver()) { // the TTL may grow when the task ends
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
