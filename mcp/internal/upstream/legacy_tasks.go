package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

const (
	maxWatched = 256                    // tasks whose results are awaited for the sake of their requests
	watchTime  = 10 * time.Minute       // lifetime of a watch without requests about its task
	watchPause = 500 * time.Millisecond // wait for the first request of a task that requires input
)

const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
	methodTasksResult = "tasks/result"
	methodTasksList   = "tasks/list"
)

// perform sends a request. It uses the form of 2025-11-25 if the request is about a task or may
// create one.
func (e *legacy) perform(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	if !s.hasTasks || !task.Declared(req.Meta.Capabilities) {
		return e.begin(ctx, s, req)
	}
	switch req.Method {
	case methodToolsCall:
		return e.callAsTask(ctx, s, req)
	case methodTasksGet, methodTasksUpdate, methodTasksCancel:
		id, err := task.ID(req.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		return e.aboutTask(ctx, s, req, id)
	}
	return e.begin(ctx, s, req)
}

// callAsTask calls a tool, as a task if the server allows that.
func (e *legacy) callAsTask(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	if err := e.learnTools(ctx, s, req); err != nil {
		return mcp.Result{}, err
	}
	if !e.tools.of(req.Name).mayBeTask {
		return e.begin(ctx, s, req)
	}
	result, err := e.begin(ctx, s, req.WithParams(jsonrpc.With(orEmptyObject(req.Params), "task", []byte(`{}`))))
	return raised(s, req, result), err
}

// raised returns the result of a call. If the result is a task, raised converts it to a modern one.
// A server may also send a normal result at once.
func raised(s *session, req *mcp.Request, result mcp.Result) mcp.Result {
	if !s.hasTasks || req.Method != methodToolsCall || !task.Declared(req.Meta.Capabilities) || jsonrpc.Get(result.JSON, "content") != nil {
		return result
	}
	if begun := jsonrpc.Get(result.JSON, "task"); jsonrpc.Get(begun, "taskId") != nil {
		result.Type, result.JSON = string(revision.Task), revision.RaiseTask(begun)
	}
	return result
}

// learnTools lists the tools once, as only the lists show which tools support tasks.
func (e *legacy) learnTools(ctx context.Context, s *session, req *mcp.Request) error {
	if e.tools.listed.Load() {
		return nil
	}
	err := e.learnPages(ctx, s, req, e.begin)
	if err == nil {
		e.tools.listed.Store(true)
	}
	return err
}

// aboutTask responds to a request about a task with the state of the task on the server.
func (e *legacy) aboutTask(ctx context.Context, s *session, req *mcp.Request, id string) (mcp.Result, error) {
	if req.Method == methodTasksCancel {
		_, err := e.ofTask(ctx, s, req, methodTasksCancel, id)
		if errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) { // the task may be over, which is not an error for a modern client
			_, err = e.ofTask(ctx, s, req, methodTasksGet, id)
		}
		return mcp.Result{}, err
	}
	now, err := e.ofTask(ctx, s, req, methodTasksGet, id)
	if err != nil {
		return mcp.Result{}, err
	}
	if req.Method == methodTasksUpdate {
		return mcp.Result{}, e.answerTask(req, id)
	}
	raised := revision.RaiseTask(now.JSON)
	status, _ := jsonrpc.Unquote(jsonrpc.Get(raised, "status"))
	switch task.Status(status) {
	case task.Completed, task.Failed:
		raised, err = e.finished(ctx, s, req, id, raised)
	case task.InputRequired:
		raised, err = e.withInputs(ctx, req, id, raised)
	}
	now.JSON = raised
	return now, err
}

// ofTask sends a request of 2025-11-25 about a task.
func (e *legacy) ofTask(ctx context.Context, s *session, req *mcp.Request, method, id string) (mcp.Result, error) {
	about := mcp.NewRequest(method, task.Params(id))
	about.Meta, about.Caller, about.Principal, about.Peer = req.Meta, req.Caller, req.Principal, req.Peer
	about.Meta.ProgressToken = nil
	return e.begin(ctx, s, about)
}

// finished adds the result or the error to a task that is over.
func (e *legacy) finished(ctx context.Context, s *session, req *mcp.Request, id string, raised json.RawMessage) (json.RawMessage, error) {
	result, err := e.ofTask(ctx, s, req, methodTasksResult, id)
	status, member := task.Completed, "result"
	body := result.JSON
	var fault *mcp.Error
	switch {
	case errors.As(err, &fault):
		status, member = task.Failed, "error"
		if body, err = json.Marshal(task.FaultOf(fault)); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if meta := jsonrpc.Without(result.Meta, revision.MetaRelatedTask); len(meta) > len("{}") {
			body = jsonrpc.With(body, "_meta", meta)
		}
	}
	raised = jsonrpc.With(raised, "status", jsonrpc.AppendString(nil, string(status)))
	return jsonrpc.With(raised, member, body), nil
}

// A taskWatch waits for the result of a task, as the server requests input only during that wait.
// It is the Peer of the request for the result.
type taskWatch struct {
	mcp.NoPeer
	log   *slog.Logger
	meta  mcp.Meta
	idle  *time.Timer
	asked chan struct{} // closed at the first request for input

	mu     sync.Mutex
	count  int
	inputs map[string]*taskInput
}

type taskInput struct {
	request  json.RawMessage
	response chan json.RawMessage
}

// withInputs adds the server's open requests to a task.
func (e *legacy) withInputs(ctx context.Context, req *mcp.Request, id string, raised json.RawMessage) (json.RawMessage, error) {
	w, err := e.watch(req, id, share.Of(ctx))
	if err != nil {
		return nil, err
	}
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	select {
	case <-w.asked:
	case <-pause.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.mu.Lock()
	inputs := maps.Clone(w.inputs)
	w.mu.Unlock()
	if len(inputs) == 0 { // the task requires no input yet, or no longer
		return jsonrpc.With(raised, "status", jsonrpc.AppendString(nil, string(task.Working))), nil
	}
	requests := jsonrpc.NewObject(nil)
	for key, in := range inputs {
		requests.Raw(key, in.request)
	}
	return jsonrpc.With(raised, "inputRequests", requests.Bytes()), nil
}

// watch returns the watch for a task's result. It starts one if needed, in the share of the caller
// by.
func (e *legacy) watch(req *mcp.Request, id, by string) (*taskWatch, error) {
	ctx, cancel := context.WithCancelCause(share.With(e.ctx, by))
	fresh := &taskWatch{log: e.log, meta: req.Meta, asked: make(chan struct{}), inputs: map[string]*taskInput{}, idle: time.AfterFunc(watchTime, func() { cancel(errGivenUp) })}
	fresh.meta.ProgressToken = nil
	w := e.watching(id, by, fresh)
	if w != fresh {
		fresh.idle.Stop()
		cancel(nil)
	}
	switch {
	case w == nil:
		return nil, mcp.Errorf(mcp.CodeInternalError, "%d tasks of this server wait for their clients already, or a quarter of that number for one caller; try again later", maxWatched)
	case w != fresh:
		w.idle.Reset(watchTime)
		return w, nil
	}
	wait := &mcp.Request{Method: methodTasksResult, Params: task.Params(id), Name: id, Meta: w.meta, Caller: w, Principal: req.Principal, Peer: w}
	over := func() {
		w.idle.Stop()
		cancel(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watched, id)
		e.watchers.Give(by)
	}
	runs := e.spawn(func() {
		defer over()
		// The next request about the task returns the result or the error.
		if _, err := e.begin(ctx, e.session.Load(), wait); err != nil {
			e.log.Debug("mcp: a task is not watched any more", "server", e.options.Name, "task", id, "error", err)
		}
	})
	if !runs {
		over()
		return nil, mcp.ErrClosed
	}
	return w, nil
}

// watching returns the existing watch for a task's result, or registers fresh. If there are too
// many watches, it returns nil.
func (e *legacy) watching(id, by string, fresh *taskWatch) *taskWatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.watched[id]; w != nil {
		return w
	}
	if !e.watchers.Take(by) {
		return nil
	}
	e.watched[id] = fresh
	return fresh
}

// answerTask passes the client's responses to the waiting requests. It ignores other responses.
func (e *legacy) answerTask(req *mcp.Request, id string) error {
	var responses map[string]json.RawMessage
	if err := json.Unmarshal(jsonrpc.Get(req.Params, "inputResponses"), &responses); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "inputResponses: expected an object of responses")
	}
	e.mu.Lock()
	w := e.watched[id]
	e.mu.Unlock()
	if w == nil {
		return nil
	}
	for key, response := range responses {
		if in := w.take(key); in != nil {
			in.response <- response // capacity 1, and this is its only value
		}
	}
	return nil
}

// take removes and returns a waiting request of the task, or returns nil.
func (w *taskWatch) take(key string) *taskInput {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.inputs[key]
	delete(w.inputs, key)
	return in
}

// Ask adds a request of the task for a client that asks about the task, and waits for that client's
// response.
func (w *taskWatch) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if err := w.meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	request := jsonrpc.NewObject(nil)
	request.String("method", q.Method)
	if q.Params != nil {
		request.Raw("params", withoutRelated(q.Params))
	}
	in := &taskInput{request: request.Bytes(), response: make(chan json.RawMessage, 1)}
	w.mu.Lock()
	w.count++
	key := strconv.Itoa(w.count)
	if w.inputs[key] = in; w.count == 1 {
		close(w.asked)
	}
	w.mu.Unlock()
	select {
	case response := <-in.response:
		return loose.ReadAnswer(ctx, w.log, q.Method, q.Params, response), nil
	case <-ctx.Done():
		w.take(key)
		return nil, context.Cause(ctx)
	}
}

// withoutRelated returns params without the member of _meta that names the task.
func withoutRelated(params json.RawMessage) json.RawMessage {
	meta := jsonrpc.Get(params, "_meta")
	if jsonrpc.Get(meta, revision.MetaRelatedTask) == nil {
		return params
	}
	if meta = jsonrpc.Without(meta, revision.MetaRelatedTask); len(meta) > len("{}") {
		return jsonrpc.With(params, "_meta", meta)
	}
	return jsonrpc.Without(params, "_meta")
}

// waitingFor returns the call that waits for the result of the task in the params of a server
// request, or nil.
func (c *conn) waitingFor(params json.RawMessage) *call {
	id, named := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(jsonrpc.Get(params, "_meta"), revision.MetaRelatedTask), "taskId"))
	if !named {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.task == id && k.method == methodTasksResult && k.acceptsRequests {
			return k
		}
	}
	return nil
}
