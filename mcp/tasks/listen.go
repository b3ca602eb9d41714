package tasks

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	form "github.com/junction-mcp/junction/mcp/internal/task"
)

const (
	listenPause = 2 * time.Second       // interval of reading tasks of other processes
	changePause = 20 * time.Millisecond // pause between a change of a task and reading it
	ackName     = "notifications/subscriptions/acknowledged"
)

// notifyListeners makes the subscriptions to a task read the task.
func (t *Tasks) notifyListeners(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners[id] {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// join registers a listener for changes of its tasks, until leave is called.
func (t *Tasks) join(l *listener) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range l.ids {
		if t.listeners[id] == nil {
			t.listeners[id] = map[*listener]struct{}{}
		}
		t.listeners[id][l] = struct{}{}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, id := range l.ids {
			if delete(t.listeners[id], l); len(t.listeners[id]) == 0 {
				delete(t.listeners, id)
			}
		}
	}
}

// listen adds notifications of tasks to a subscription that selects tasks.
func (t *Tasks) listen(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	wanted, only, err := form.Listened(req.Params)
	switch {
	case err != nil:
		return mcp.Result{}, err
	case wanted == nil:
		return next.Handle(ctx, req)
	case !Declared(req.Meta.Capabilities):
		return mcp.Result{}, form.Missing()
	}
	l := &listener{tasks: t, req: req, sent: map[string]time.Time{}, changed: make(chan struct{}, 1), acknowledged: make(chan struct{})}
	for _, id := range wanted {
		if _, err := t.find(ctx, id, req.Principal); err == nil {
			l.ids = append(l.ids, id)
		}
	}
	defer t.join(l)()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { l.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	if only { // nothing else is selected, so the Handler is not needed
		if err := l.Notify(ctx, ackName, json.RawMessage(`{"notifications":{}}`)); err != nil {
			return mcp.Result{}, err
		}
		<-ctx.Done()
		return mcp.Result{}, context.Cause(ctx)
	}
	listen := *req
	listen.Peer = l
	return next.Handle(ctx, &listen)
}

// A listener is the Peer of a subscription that also selects tasks.
type listener struct {
	tasks        *Tasks
	req          *mcp.Request
	ids          []string
	sent         map[string]time.Time // update time of the last sent state, by id; used only by watch
	changed      chan struct{}        // capacity 1; signals a change of one of the tasks in this process
	once         sync.Once
	acknowledged chan struct{}
}

// Notify adds the selected tasks to the acknowledgement.
func (l *listener) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method != ackName {
		return l.req.Peer.Notify(ctx, method, params)
	}
	ids, err := schema.Encode(nil, append([]string{}, l.ids...))
	if err != nil {
		return err
	}
	agreed := jsonrpc.With(jsonrpc.Get(params, "notifications"), "taskIds", ids)
	err = l.req.Peer.Notify(ctx, method, jsonrpc.With(params, "notifications", agreed))
	l.once.Do(func() { close(l.acknowledged) })
	return err
}

// Ask passes the request to the client.
func (l *listener) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	return l.req.Peer.Ask(ctx, q)
}

// watch sends notifications of changes of the tasks, until ctx is done or all tasks have ended.
func (l *listener) watch(ctx context.Context) {
	select {
	case <-l.acknowledged:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(listenPause)
	defer ticker.Stop()
	left := l.ids
	for len(left) > 0 {
		var still []string
		for _, id := range left {
			if l.look(ctx, id) {
				still = append(still, id)
			}
		}
		left = still
		select {
		case <-l.changed:
			select { // wait for further changes
			case <-time.After(changePause):
			case <-ctx.Done():
				return
			}
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look sends a notification if a task changed. It reports whether the task may change again.
func (l *listener) look(ctx context.Context, id string) bool {
	task, err := l.tasks.find(ctx, id, l.req.Principal)
	if err != nil {
		return ctx.Err() == nil && mcp.ErrorOf(err).Code != mcp.CodeInvalidParams
	}
	if !task.Updated.Equal(l.sent[id]) {
		l.sent[id] = task.Updated
		params, err := schema.Encode(nil, task.detailed())
		if err != nil || l.req.Peer.Notify(ctx, "notifications/tasks", params) != nil {
			return false
		}
	}
	return !task.isOver()
}
