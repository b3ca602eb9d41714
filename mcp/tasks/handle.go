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

// A Task is one of a server, as its client knows it. It is safe for concurrent use as long as its fields are not
// changed.
type Task struct {
	ID     string // to be kept by who wants to go on after a restart, see [Resume]
	client *mcp.Client
	poll   time.Duration

	// Ask responds to what the task asks (elicitation/create and others); nil: nobody does, and [Task.Wait] fails when
	// the task asks something.
	Ask func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error)
	// OnMessage, if not nil, hears what the task says of itself, each time that Wait looks.
	OnMessage func(message string)
}

// Start calls a tool, and returns its result, or, where the server made one of the call, its task. The client has to
// declare [Capabilities].
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

// Resume returns the task with an id that [Start] returned, perhaps to another process.
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

// Wait waits until the task is done, and returns its result. The error is [ErrUnanswered] where its server cannot be
// asked, [ErrCancelled] for a task that was cancelled, and else an [*mcp.Error] for one that failed, that the server does
// not know, or of which it says what cannot be read. When ctx is done the task goes on.
func (t *Task) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	w := &task.Waiter{Do: t.client.Do, Ask: t.Ask, Report: func(_ context.Context, _ int, message string) {
		if t.OnMessage != nil && message != "" {
			t.OnMessage(message)
		}
	}}
	if w.Ask == nil {
		w.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
			return nil, errors.New("the task asks something, and Task.Ask is nil")
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

// Cancel asks the server to cancel the task, which may be done before that.
func (t *Task) Cancel(ctx context.Context) error {
	_, err := t.client.Do(ctx, "tasks/cancel", task.Params(t.ID))
	return err
}

// Status is what the task is doing: working, input_required, completed, failed or cancelled, and what it says of itself.
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
