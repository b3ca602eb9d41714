package task

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// The notifications of a subscription to tasks.
const (
	Notification         = "notifications/tasks"
	notifyAcknowledgment = "notifications/subscriptions/acknowledged"
)

// MaxListened is the maximum number of tasks in one subscription.
const MaxListened = 100

// ListenParams returns the params of a subscription to one task.
func ListenParams(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Object("notifications")
	w.Array("taskIds")
	w.StringElement(id)
	w.End()
	w.End()
	return w.Bytes()
}

// Listened returns the tasks in the params of a subscription. It also reports whether the
// subscription contains nothing else.
func Listened(params json.RawMessage) (tasks []string, only bool, err error) {
	filter := jsonrpc.Get(params, "notifications")
	named := jsonrpc.Get(filter, "taskIds")
	if named == nil {
		return nil, false, nil
	}
	if err := json.Unmarshal(named, &tasks); err != nil || len(tasks) > MaxListened {
		return nil, false, mcp.Errorf(mcp.CodeInvalidParams, "notifications.taskIds: expected at most %d ids of tasks", MaxListened)
	}
	only = true
	jsonrpc.EachMember(filter, func(name, value []byte) bool {
		only = string(name) == `"taskIds"` || string(value) == "false" || string(value) == "[]"
		return only
	})
	return tasks, only, nil
}

// Agreed reports whether the acknowledgement of a subscription contains the task.
func Agreed(acknowledged json.RawMessage, id string) bool {
	found := false
	jsonrpc.EachElement(jsonrpc.Get(jsonrpc.Get(acknowledged, "notifications"), "taskIds"), func(element []byte) bool {
		agreed, _ := jsonrpc.Unquote(element)
		found = agreed == id
		return !found
	})
	return found
}

type freeKey struct{}

// IsForFree reports whether a subscription is wanted only if it needs no message to the server. A
// Waiter polls its task in any case. Over HTTP, a subscription would need a connection for each
// task.
func IsForFree(ctx context.Context) bool { return ctx.Value(freeKey{}) != nil }

// A hearing is the Peer of the subscription of a Waiter.
type hearing struct {
	mcp.NoPeer
	id    string
	over  context.CancelFunc
	tasks chan *Task // capacity 1; contains the newest task
}

// hear subscribes to a task until stop is called. The function stop waits for the end of the
// subscription.
func (w *Waiter) hear(ctx context.Context, id string) (tasks <-chan *Task, stop func()) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, freeKey{}, true))
	h := &hearing{id: id, over: cancel, tasks: make(chan *Task, 1)}
	var listening sync.WaitGroup
	listening.Go(func() { _ = w.Listen(ctx, ListenParams(id), h) }) // a server may have no subscriptions
	return h.tasks, func() { cancel(); listening.Wait() }
}

// Notify implements [mcp.Peer].
func (h *hearing) Notify(_ context.Context, method string, params json.RawMessage) error {
	switch method {
	case notifyAcknowledgment:
		if !Agreed(params, h.id) {
			h.over()
		}
	case Notification:
		t, err := Parse(params)
		if err != nil || t.ID != h.id || !t.isWhole() {
			return nil // the next poll gets it
		}
		select {
		case <-h.tasks:
		default:
		}
		select {
		case h.tasks <- t:
		default:
		}
	}
	return nil
}

// isWhole reports whether a task has the members that its status requires.
func (t *Task) isWhole() bool {
	switch t.Status {
	case InputRequired:
		return t.Inputs != nil
	case Completed:
		return t.Result != nil
	case Failed:
		return t.Fault != nil
	}
	return true
}

// Parse decodes a task. The task does not share memory with raw.
func Parse(raw json.RawMessage) (*Task, error) {
	var t Task
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("the server's task: %w", err)
	}
	if t.ID == "" || len(t.ID) > maxID {
		return nil, fmt.Errorf("the server's task: taskId: expected 1 to %d bytes, got %d", maxID, len(t.ID))
	}
	return &t, nil
}
