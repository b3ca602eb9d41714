// Package task holds the form of tasks as the modern revision has it (extension io.modelcontextprotocol/tasks), and
// waits for those of servers: for whoever stands on the client's side, and for edges whose clients know no tasks, or
// those of 2025-11-25.
package task

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const maxID = 1_024 // bytes of a task's id

// A Status is what a task is doing.
type Status string

// The statuses of the extension.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Cancelled     Status = "cancelled"
	Failed        Status = "failed"
)

// IsOver reports whether a task stays as it is.
func (s Status) IsOver() bool { return s != Working && s != InputRequired }

// A Task is what clients see of one.
type Task struct {
	ID      string                     `json:"taskId"`
	Status  Status                     `json:"status"`
	Message string                     `json:"statusMessage,omitempty"`
	Created string                     `json:"createdAt"`
	Updated string                     `json:"lastUpdatedAt"`
	TTL     *float64                   `json:"ttlMs"` // nil: without end
	Poll    float64                    `json:"pollIntervalMs,omitempty"`
	Inputs  map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result  json.RawMessage            `json:"result,omitempty"`
	Fault   *Fault                     `json:"error,omitempty"`
}

// A Fault is an error as JSON-RPC has it.
type Fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// FaultOf is an error as JSON-RPC has it.
func FaultOf(err error) *Fault {
	e := mcp.ErrorOf(err)
	return &Fault{e.Code, e.Message, e.Data}
}

// Err is the error that a fault stands for.
func (f *Fault) Err() error {
	if f == nil {
		return mcp.Errorf(mcp.CodeInternalError, "the task failed")
	}
	return &mcp.Error{Code: f.Code, Message: f.Message, Data: f.Data}
}

// Of reads the task in a result.
func Of(result *mcp.Result) (*Task, error) {
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	return Parse(body)
}

// Interval is how often the server wants to be asked; 0 where it does not say.
func (t *Task) Interval() time.Duration {
	return time.Duration(min(max(t.Poll, 0), 1<<30)) * time.Millisecond
}

// Params are the parameters of requests about a task.
func Params(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", id)
	return w.Bytes()
}

// ID is the task that the parameters of a request name.
func ID(params json.RawMessage) (string, error) {
	id, ok := jsonrpc.Unquote(jsonrpc.Get(params, "taskId"))
	if !ok || id == "" || len(id) > maxID {
		return "", mcp.Errorf(mcp.CodeInvalidParams, "taskId: expected a string of 1 to %d bytes, got %.40s", maxID, jsonrpc.Get(params, "taskId"))
	}
	return id, nil
}

// Unknown is the error for a task that is not there.
func Unknown(id string) error {
	return mcp.Errorf(mcp.CodeInvalidParams, "there is no task %q: it was never begun, or ended long ago", id)
}

// Declared reports whether a client knows tasks.
func Declared(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Extensions[revision.TasksExtension] != nil
}

// Declare returns capabilities that have the one of tasks.
func Declare(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if Declared(c) {
		return c
	}
	var all mcp.ClientCapabilities
	if c != nil {
		all = *c
	}
	if all.Extensions = maps.Clone(all.Extensions); all.Extensions == nil {
		all.Extensions = map[string]json.RawMessage{}
	}
	all.Extensions[revision.TasksExtension] = json.RawMessage(`{}`)
	return &all
}

// Undeclare returns capabilities that do not have the one of tasks.
func Undeclare(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if !Declared(c) {
		return c
	}
	all := *c
	all.Extensions = maps.Clone(all.Extensions)
	delete(all.Extensions, revision.TasksExtension)
	return &all
}

// Missing is the error for a client that would have to know tasks.
func Missing() error {
	w := jsonrpc.NewObject(nil)
	w.Object("requiredCapabilities")
	w.Object("extensions")
	w.Object(revision.TasksExtension)
	w.End()
	w.End()
	w.End()
	e := mcp.Errorf(mcp.CodeMissingCapability, "the client did not declare the extension that this needs: %s", revision.TasksExtension)
	e.Data = w.Bytes()
	return e
}

// ErrCancelled is why there is no result of a task that was cancelled.
var ErrCancelled = errors.New("the task was cancelled")
