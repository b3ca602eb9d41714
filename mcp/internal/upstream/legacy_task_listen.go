package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

const (
	statusTime  = 10 * time.Second       // timeout for reading the state of a task after a notification
	statusPause = 100 * time.Millisecond // minimum pause between two such requests for one subscription
)

// readTasks reads the tasks in a listen request.
func (l *listener) readTasks(s *session, req *mcp.Request) error {
	ids, only, err := task.Listened(req.Params)
	switch {
	case err != nil || ids == nil:
		return err
	case !task.Declared(req.Meta.Capabilities):
		return task.Missing()
	}
	if l.onlyTasks = only; s.hasTasks {
		l.tasks = ids
	}
	return nil
}

// withTasks adds the tasks to an acknowledgement.
func (l *listener) withTasks(acknowledged json.RawMessage) json.RawMessage {
	if l.tasks == nil {
		return acknowledged
	}
	ids := jsonrpc.NewArray(nil)
	for _, id := range l.tasks {
		ids.Element(jsonrpc.AppendString(nil, id))
	}
	return jsonrpc.With(acknowledged, "notifications", jsonrpc.With(jsonrpc.Get(acknowledged, "notifications"), "taskIds", ids.Bytes()))
}

// hint queues a check of a task if the listen request names it. The content of the server's
// notification is not passed on, as it lacks members of a modern notification and may be wrong.
func (l *listener) hint(id string) {
	if slices.Contains(l.tasks, id) {
		l.events.putOnce(event{kind: notification, message: &jsonrpc.Message{Kind: jsonrpc.Notification, Method: task.Notification, Params: task.Params(id)}})
	}
}

// passTask sends a notification about a task, with the state that tasks/get returns.
func (e *legacy) passTask(ctx context.Context, l *listener, req *mcp.Request, params json.RawMessage) {
	within, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	about := mcp.NewRequest(methodTasksGet, params)
	about.Meta, about.Caller, about.Principal, about.Peer = req.Meta, req.Caller, req.Principal, l.peer
	result, err := e.aboutTask(within, e.session.Load(), about, about.Name)
	if err == nil {
		err = l.peer.Notify(ctx, task.Notification, result.JSON)
	}
	if err != nil {
		e.log.Debug("mcp: a change of a task was not passed on", "server", e.options.Name, "task", about.Name, "error", err)
	}
	_ = idle.Wait(ctx, statusPause)
}
