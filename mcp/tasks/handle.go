package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// A Task is a task of a server, for its client. It is safe for concurrent use as long as its fields
// are not changed.
type Task struct {
	ID     string // can be stored by a program that continues after a restart; see [Resume]
	client *mcp.Client
	poll   time.Duration

	// Ask responds to requests of the task, such as elicitation/create. If it is nil, [Task.Wait]
	// fails when the task sends a request.
	Ask func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
	// OnMessage, if not nil, is called with the task's message each time that Wait has requested
	// the state.
	OnMessage func(message string)
}

// Start calls a tool. It returns the tool's result, or a Task if the server made the call a task.
// The client must declare [Capabilities].
func Start(ctx context.Context, c *mcp.Client, tool string, arguments any) (*mcp.CallToolResult, *Task, error) {
	w := jsonrpc.NewObject(nil)
	w.String("name", tool)
	if arguments != nil {
		if err := schema.EncodeMember(&w, "arguments", arguments); err != nil {
			return nil, nil, err
		}
	}
	result, err := c.Do(ctx, "tools/call", w.Bytes())
	if err != nil {
		return nil, nil, err
	}
	if result.Type != "task" {
		done, err := toolResult(&result)
		return done, nil, err
	}
	begun, err := task.Of(&result)
	if err != nil {
		return nil, nil, err
	}
	return nil, &Task{ID: begun.ID, client: c, poll: cmp.Or(begun.Interval(), defaultPoll)}, nil
}

// Resume returns the task with an id that [Start] returned, possibly in another process.
func Resume(c *mcp.Client, id string) *Task { return &Task{ID: id, client: c} }

func toolResult(result *mcp.Result) (*mcp.CallToolResult, error) {
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	done := &mcp.CallToolResult{Meta: result.Meta}
	if err := schema.DecodeLoose(body, done); err != nil {
		return nil, mcp.Errorf(mcp.CodeInternalError, "the result of the tool cannot be read: %v", err)
	}
	return done, nil
}

// Wait waits until the task is done, and returns its result. The error is [ErrUnanswered] if the
// server cannot be reached, and [ErrCancelled] if the task was cancelled. It is an [*mcp.Error] if
// the task failed, is unknown, or has an invalid state. If ctx is done first, the task continues.
func (t *Task) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	w := &task.Waiter{Do: t.client.Do, Ask: t.Ask, Report: func(_ context.Context, _ int, message string) {
		if t.OnMessage != nil && message != "" {
			t.OnMessage(message)
		}
	}}
	if w.Ask == nil {
		w.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
			return nil, errors.New("the task asks something, but Task.Ask is nil")
		}
	}
	w.Listen = func(ctx context.Context, params json.RawMessage, peer mcp.Peer) error {
		listen, knows := mcp.NewRequest("subscriptions/listen", params), Capabilities()
		listen.Meta.Capabilities, listen.Peer, listen.Caller = &knows, peer, t.client
		_, err := t.client.Handle(ctx, listen)
		return err
	}
	result, err := w.Wait(ctx, t.ID, t.poll)
	if err != nil {
		return nil, err
	}
	return toolResult(&result)
}

// Cancel requests the cancellation of the task from the server. The task may end normally before
// that.
func (t *Task) Cancel(ctx context.Context) error {
	_, err := t.client.Do(ctx, "tasks/cancel", task.Params(t.ID))
	return err
}

// Status returns the status of the task (working, input_required, completed, failed or cancelled)
// and its message.
func (t *Task) Status(ctx context.Context) (status, message string, err error) {
	result, err := t.client.Do(ctx, "tasks/get", task.Params(t.ID))
	if err != nil {
		return "", "", err
	}
	now, err := task.Of(&result)
	if err != nil {
		return "", "", err
	}
	return string(now.Status), now.Message, nil
}
