package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

const (
	prefix   = "tasks/task/"
	holders  = "tasks/process/" // of leases: of processes that live
	maxID    = 200              // bytes of a task's id
	maxTries = 20               // to change a task that others change
)

// A status is what a task is doing (SEP-2663).
type status string

const (
	working       status = "working"
	inputRequired status = "input_required"
	completed     status = "completed"
	cancelled     status = "cancelled"
	failed        status = "failed"
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

	Issuer    string                     `json:"issuer,omitempty"` // of whose task it is
	Subject   string                     `json:"subject,omitempty"`
	Process   string                     `json:"process"`   // that runs it
	Inputs    map[string]json.RawMessage `json:"inputs"`    // requests to the client that wait
	Responses map[string]json.RawMessage `json:"responses"` // that the tool did not take yet
	Result    json.RawMessage            `json:"result,omitempty"`
	Fault     *fault                     `json:"fault,omitempty"`
}

// A fault is an error as JSON-RPC has it.
type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func faultOf(err error) *fault {
	e := mcp.ErrorOf(err)
	return &fault{e.Code, e.Message, e.Data}
}

func (r *record) isOver() bool { return r.Status != working && r.Status != inputRequired }

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

// shown is a task as clients see it.
type shown struct {
	ID      string                     `json:"taskId"`
	Status  status                     `json:"status"`
	Message string                     `json:"statusMessage,omitempty"`
	Created string                     `json:"createdAt"`
	Updated string                     `json:"lastUpdatedAt"`
	TTL     int64                      `json:"ttlMs"`
	Poll    int64                      `json:"pollIntervalMs"`
	Inputs  map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result  json.RawMessage            `json:"result,omitempty"`
	Fault   *fault                     `json:"error,omitempty"`
}

// plain is a task without what depends on its status.
func (r *record) plain() shown {
	return shown{ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created.UTC().Format(time.RFC3339Nano), Updated: r.Updated.UTC().Format(time.RFC3339Nano),
		TTL: r.TTL.Milliseconds(), Poll: max(r.Poll.Milliseconds(), 1)}
}

// detailed is a task with all.
func (r *record) detailed() shown {
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

func unknown(id string) error {
	return mcp.Errorf(mcp.CodeInvalidParams, "there is no task %q: it was never begun, or ended long ago", id)
}

// find is a task of somebody. One whose process died has failed.
func (t *Tasks) find(ctx context.Context, id string, who *mcp.Principal) (*record, error) {
	e, err := t.options.Store.Get(ctx, prefix+id)
	if errors.Is(err, state.ErrNotFound) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	var task record
	if err := json.Unmarshal(e.Value, &task); err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	if !task.isOf(who) {
		return nil, unknown(id)
	}
	if task.isOver() || t.lives(ctx, task.Process) {
		return &task, nil
	}
	return t.change(ctx, id, func(task *record) error {
		if task.isOver() {
			return errUnchanged
		}
		task.Fault = &fault{Code: mcp.CodeInternalError, Message: "the process that ran the task ended"}
		return task.end(failed)
	})
}

// isOf reports whether a task is somebody's; nil is who is not known.
func (r *record) isOf(who *mcp.Principal) bool {
	if who == nil {
		return r.Subject == ""
	}
	return r.Issuer == who.Issuer && r.Subject == who.Subject
}

// lives reports whether a process that runs tasks lives.
func (t *Tasks) lives(ctx context.Context, process string) bool {
	if process == t.process {
		return true
	}
	hold, err := t.options.Store.Acquire(ctx, holders+process, time.Second)
	if err != nil {
		return true // it has the lease, or it is not known
	}
	_ = t.options.Store.Release(ctx, hold) // it ends by itself
	return false
}

// change changes a task that others may change, and returns it. Where do returns errUnchanged it stays as it is.
func (t *Tasks) change(ctx context.Context, id string, do func(*record) error) (*record, error) {
	for range maxTries {
		e, err := t.options.Store.Get(ctx, prefix+id)
		if errors.Is(err, state.ErrNotFound) {
			return nil, unknown(id)
		}
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", id, err)
		}
		task := record{}
		if err := json.Unmarshal(e.Value, &task); err != nil {
			return nil, fmt.Errorf("task %s: %w", id, err)
		}
		if task.Responses == nil {
			task.Responses = map[string]json.RawMessage{}
		}
		if err := do(&task); errors.Is(err, errUnchanged) {
			return &task, nil
		} else if err != nil {
			return nil, err
		}
		task.Updated = time.Now()
		if err := t.put(ctx, &task, e.Version); !errors.Is(err, state.ErrConflict) {
			return &task, err
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
	_, err = t.options.Store.CompareAndSwap(ctx, prefix+task.ID, old, value, state.Write{TTL: max(time.Until(task.Created.Add(task.TTL)), time.Second)})
	return err
}
