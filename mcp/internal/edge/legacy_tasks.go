package edge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

const (
	maxKept      = 16        // stored immediate results of calls that asked for a task
	maxKeptBytes = 1 << 20   // bytes of all these results; the last one is always stored
	keptTime     = time.Hour // lifetime of these results in responses to the client
)

// legacyTasks holds the tasks of a session of 2025-11-25. A client of that revision asks for a task
// with a call, and gets the result with another request. While that request runs, the client can be
// asked for input. The Handler's tasks are modern ones.
type legacyTasks struct {
	mu    sync.Mutex
	kept  []keptResult // oldest first
	known []knownTask  // ordered by number
	count int          // number of tasks ever seen
}

// A keptResult is the immediate result of a call that asked for a task.
type keptResult struct {
	id      string
	created time.Time
	result  mcp.Result
	size    int
}

// wantsTask reports whether a request of the session asks for a task.
func (s *Session) wantsTask(m *jsonrpc.Message) bool {
	wanted := m.Members.Get("task")
	return s.hasTasks() && revision.MethodNamed(m.Method).Task && len(wanted) > 0 && wanted[0] == '{'
}

// asTask converts the result of a call that asked for a task to a task.
func (s *Session) asTask(result *mcp.Result) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return mcp.Result{}, err
	}
	if result.Type == string(revision.Task) {
		lowered := revision.LowerTask(body)
		if begun, err := task.Parse(body); err == nil {
			s.heardOf(begun.ID, lowered)
		}
		return created(lowered, result.Meta), nil
	}
	t := &s.tasks
	k := keptResult{id: rand.Text(), created: time.Now(), result: result.WithJSON(slices.Clone(body)), size: len(body) + len(result.Meta)}
	k.result.Meta = slices.Clone(result.Meta)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, k)
	size := 0
	for i := len(t.kept) - 1; i >= 0; i-- {
		if size += t.kept[i].size; i < len(t.kept)-1 && size > maxKeptBytes || len(t.kept)-i > maxKept {
			t.kept = slices.Clone(t.kept[i+1:])
			break
		}
	}
	return created(k.task(), nil), nil
}

func created(lowered, meta json.RawMessage) mcp.Result {
	w := jsonrpc.NewObject(nil)
	w.Raw("task", lowered)
	return mcp.Result{JSON: w.Bytes(), Meta: meta}
}

func (k *keptResult) task() json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", k.id)
	w.String("status", string(task.Completed))
	w.String("createdAt", k.created.UTC().Format(time.RFC3339Nano))
	w.String("lastUpdatedAt", k.created.UTC().Format(time.RFC3339Nano))
	w.Int("ttlMs", keptTime.Milliseconds())
	w.Raw("result", k.result.JSON)
	return revision.LowerTask(w.Bytes())
}

func (t *legacyTasks) find(id string) *keptResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.kept, func(k keptResult) bool { return k.id == id })
	if i < 0 {
		return nil
	}
	k := t.kept[i]
	return &k
}

// aboutTask handles a request about a task from a client of 2025-11-25.
func (c *sessionCall) aboutTask(ctx context.Context) (mcp.Result, error) {
	id, err := task.ID(c.req.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	if k := c.session.tasks.find(id); k != nil {
		switch c.req.Method {
		case "tasks/get":
			return mcp.Result{JSON: k.task()}, nil
		case "tasks/result":
			return related(k.result, id), nil
		}
		return mcp.Result{}, isOver(id, task.Completed)
	}
	if c.req.Method == "tasks/result" {
		listen := func(ctx context.Context, params json.RawMessage, peer mcp.Peer) error {
			_, err := c.asModern(ctx, methodListen, params, peer)
			return err
		}
		w := &task.Waiter{Do: c.askHandler, Listen: listen, Report: func(context.Context, int, string) {}, Ask: func(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
			q.Params = withMetaMember(q.Params, revision.MetaRelatedTask, revision.RelatedTask(id))
			return c.Ask(ctx, q)
		}}
		result, err := w.Wait(ctx, id, 0)
		if errors.Is(err, task.ErrCancelled) {
			err = mcp.Errorf(mcp.CodeInternalError, "%v", err)
		}
		return related(result, id), err
	}
	now, body, err := c.look(ctx, id)
	if err != nil || c.req.Method == "tasks/get" {
		return mcp.Result{JSON: body}, err
	}
	if now.Status.IsOver() {
		return mcp.Result{}, isOver(id, now.Status)
	}
	if _, err := c.askHandler(ctx, "tasks/cancel", task.Params(id)); err != nil {
		return mcp.Result{}, err
	}
	if now, body, err = c.look(ctx, id); err == nil && !now.Status.IsOver() { // the server cancels the task later, but this revision requires the final status now
		body = jsonrpc.With(body, "status", jsonrpc.AppendString(nil, string(task.Cancelled)))
	}
	return mcp.Result{JSON: body}, err
}

func isOver(id string, status task.Status) error {
	return mcp.Errorf(mcp.CodeInvalidParams, "task %q cannot be cancelled: it is %s", id, status)
}

// related returns the result of a task, with the task's id in its metadata.
func related(result mcp.Result, id string) mcp.Result {
	result.Meta = jsonrpc.With(result.Meta, revision.MetaRelatedTask, revision.RelatedTask(id))
	return result
}

// look requests a task from the Handler. It returns the task and its form in the session's
// revision.
func (c *sessionCall) look(ctx context.Context, id string) (*task.Task, json.RawMessage, error) {
	result, err := c.askHandler(ctx, "tasks/get", task.Params(id))
	if errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) { // the task ended long ago
		c.session.forgetTask(id)
	}
	if err != nil {
		return nil, nil, err
	}
	t, err := task.Of(&result)
	if err != nil {
		return nil, nil, err
	}
	if t.ID != id {
		return nil, nil, mcp.Errorf(mcp.CodeInternalError, "asked about task %q, the server answered about %.200q", id, t.ID)
	}
	body, err := result.Encoded()
	if err != nil {
		return nil, nil, err
	}
	lowered := revision.LowerTask(body)
	c.session.heardOf(t.ID, lowered)
	return t, lowered, nil
}

// askHandler sends a request about a task to the Handler, as a modern client that supports tasks.
func (c *sessionCall) askHandler(ctx context.Context, method string, params json.RawMessage) (mcp.Result, error) {
	return c.asModern(ctx, method, params, c)
}

func (c *sessionCall) asModern(ctx context.Context, method string, params json.RawMessage, peer mcp.Peer) (mcp.Result, error) {
	req := mcp.NewRequest(method, params)
	req.Meta, req.Caller, req.Principal, req.Session, req.Peer = c.req.Meta, c.req.Caller, c.req.Principal, c.req.Session, peer
	req.Meta.Capabilities = task.Declare(req.Meta.Capabilities)
	return c.session.edge.handler.Handle(ctx, req)
}
