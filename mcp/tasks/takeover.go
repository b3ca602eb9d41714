package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// takeOver continues a task whose process died.
func (t *Tasks) takeOver(ctx context.Context, left *record, next mcp.Handler) (*record, error) {
	req := mcp.NewRequest("tools/call", left.Call.Params)
	req.Meta.Capabilities, req.Meta.Client, req.Principal, req.State, req.Round = left.Call.Capabilities, left.Call.Client, left.Owner, new(mcp.State), 1
	if req.Meta.Capabilities == nil {
		req.Meta.Capabilities = &mcp.ClientCapabilities{}
	}
	for key, value := range left.Call.State {
		req.State.Set(key, value)
	}
	r := t.newRun(ctx, req, next)
	r.ownership = left.Ownership
	if err := t.enter(left.ID, r); err != nil {
		r.stop(err)
		if errors.Is(err, errTaken) {
			err = nil
		}
		return left, err
	}
	if err := t.awaitShown(ctx); err != nil {
		t.leave(left.ID)
		r.stop(err)
		return nil, err
	}
	mine := false
	task, err := t.change(ctx, left.ID, func(task *record) error {
		if mine = !task.isOver() && task.Process == left.Process; !mine {
			return errUnchanged
		}
		task.Process, task.Status, task.Inputs, task.Responses = t.process, working, nil, nil
		return nil
	})
	if err != nil || !mine { // another process continues it
		t.leave(left.ID)
		r.stop(err)
		return task, err
	}
	r.within = time.Until(task.Created.Add(task.TTL))
	r.once.Do(func() { r.became(task) })
	r.start()
	return task, nil
}
