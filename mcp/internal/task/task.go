// Package task defines the tasks of the modern revision (extension io.modelcontextprotocol/tasks),
// and waits for tasks of servers. Clients use it. Edges use it for clients that support no tasks,
// or only tasks of 2025-11-25.
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

// A Status is the state of a task.
type Status string

// The statuses of the extension.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Cancelled     Status = "cancelled"
	Failed        Status = "failed"
)

// IsOver reports whether the status is final.
func (s Status) IsOver() bool { return s != Working && s != InputRequired }

// A Task is a task in the form for clients.
type Task struct {
	ID      string                     `json:"taskId"`
	Status  Status                     `json:"status"`
	Message string                     `json:"statusMessage,omitempty"`
	Created string                     `json:"createdAt"`
	Updated string                     `json:"lastUpdatedAt"`
	TTL     *float64                   `json:"ttlMs"` // nil means unlimited
	Poll    float64                    `json:"pollIntervalMs,omitempty"`
	Inputs  map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result  json.RawMessage            `json:"result,omitempty"`
	Fault   *Fault                     `json:"error,omitempty"`
}

// A Fault is an error in the form of JSON-RPC.
type Fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// FaultOf returns an error in the form of JSON-RPC.
func FaultOf(err error) *Fault {
	e := mcp.ErrorOf(err)
	return &Fault{e.Code, e.Message, e.Data}
}

// Err returns the fault as an error. For a nil fault, it returns a general error.
func (f *Fault) Err() error {
	if f == nil {
		return mcp.Errorf(mcp.CodeInternalError, "the task failed")
	}
	return &mcp.Error{Code: f.Code, Message: f.Message, Data: f.Data}
}

// Of returns the task in a result.
func Of(result *mcp.Result) (*Task, error) {
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	return Parse(body)
}

// Interval returns the polling interval that the server wants, or 0.
func (t *Task) Interval() time.Duration {
	return time.Duration(min(max(t.Poll, 0), 1<<30)) * time.Millisecond
}

// Params returns the params of a request about a task.
func Params(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", id)
	return w.Bytes()
}

// ID returns the id of the task in the params of a request.
func ID(params json.RawMessage) (string, error) {
	id, ok := jsonrpc.Unquote(jsonrpc.Get(params, "taskId"))
	if !ok || id == "" || len(id) > maxID {
		return "", mcp.Errorf(mcp.CodeInvalidParams, "taskId: expected a string of 1 to %d bytes, got %.40s", maxID, jsonrpc.Get(params, "taskId"))
	}
	return id, nil
}

// Unknown returns the error for a task that does not exist.
func Unknown(id string) error {
	return mcp.Errorf(mcp.CodeInvalidParams, "there is no task %q: it was never begun, or ended long ago", id)
}

// Declared reports whether a client supports tasks.
func Declared(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Extensions[revision.TasksExtension] != nil
}

// Declare returns the capabilities with the capability for tasks added.
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

// Undeclare returns the capabilities without the capability for tasks.
func Undeclare(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if !Declared(c) {
		return c
	}
	all := *c
	all.Extensions = maps.Clone(all.Extensions)
	delete(all.Extensions, revision.TasksExtension)
	return &all
}

// Missing returns the error for a request that only a client with support for tasks may send.
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

// ErrCancelled is the error in place of the result of a cancelled task.
var ErrCancelled = errors.New("the task was cancelled")
