package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	form "github.com/junction-mcp/junction/mcp/internal/task"
	"github.com/junction-mcp/junction/state"
)

// Extension is the name of the extension in capabilities.
const Extension = revision.TasksExtension

const (
	defaultTTL        = time.Hour
	defaultPoll       = time.Second
	defaultMaxRunning = 1_000
	// afterTime is for how long a task is kept at least when it has ended, so that its client hears of it.
	afterTime = 10 * time.Minute
	// processTime is for how long a task of a process that died is taken to run.
	processTime = 10 * time.Second
	// storeTime bounds one change of a task in the store.
	storeTime = 10 * time.Second
)

// Options say which calls become tasks.
type Options struct {
	// Tools are the tools whose calls may become tasks, by name or by a pattern of [path.Match].
	Tools map[string]Tool
	// Others, if not nil, is for all other tools, as those behind a gateway, of which lists do not say that they may run
	// as tasks.
	Others *Tool
	// Store keeps the tasks; default in memory.
	Store state.Store
	// Open, if not nil, opens the Store when it is first needed; whoever gives it closes the store, after Close.
	Open func(ctx context.Context) (state.Store, error)
	// TTL is for how long a task may run, and is kept from its beginning on; default one hour.
	TTL time.Duration
	// Poll is how often clients are asked to look; default one second.
	Poll time.Duration
	// MaxRunning is how many tasks may run at a time in this process; default 1,000. One user has a quarter. Calls that would be more fail; with
	// Later and After they go on as calls.
	MaxRunning int
	// OnRequest, if not nil, is called with the context of each request about a task that its sender may touch, and the tool whose call
	// the task is. It must be safe for concurrent use.
	OnRequest func(ctx context.Context, req *mcp.Request, tool string)
	// Logger receives what goes wrong and no client hears of; default slog.Default().
	Logger *slog.Logger
}

// A Tool says how its calls become tasks.
type Tool struct {
	// Required: clients that do not know tasks cannot call it. Otherwise they wait for the result.
	Required bool
	// Later: a call becomes a task when the tool calls [Begin], and not at once. What it asks the user before that is
	// asked between rounds of the call.
	Later bool
	// After, with Later: a call that runs for so long becomes a task by itself; 0: never.
	After time.Duration
}

// Tasks runs calls as tasks. It is safe for concurrent use.
type Tasks struct {
	options Options
	process string // the name of this process among those that share the store
	lease   time.Duration

	ctx   context.Context // ends with Close
	end   context.CancelCauseFunc
	runs  sync.WaitGroup
	alive sync.Once     // begins to show that this process lives
	shown chan struct{} // closed when others see it

	opening chan struct{} // of capacity 1: held while the store is opened
	store   atomic.Pointer[state.Store]

	mu        sync.Mutex
	running   map[string]*run                   // by the task's id
	places    *share.Budget                     // of running
	listeners map[string]map[*listener]struct{} // by the id of a task
	closed    bool
}

// ErrClosed is why tasks end that run when their server does.
var ErrClosed = errors.New("the server was stopped")

// New returns Tasks. The error names a pattern that is malformed.
func New(o Options) (*Tasks, error) {
	for pattern := range o.Tools {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("tasks: Tools: %q: %w", pattern, err)
		}
	}
	o.TTL, o.Poll, o.MaxRunning = cmp.Or(o.TTL, defaultTTL), cmp.Or(o.Poll, defaultPoll), cmp.Or(o.MaxRunning, defaultMaxRunning)
	if o.Store == nil && o.Open == nil {
		o.Store = state.NewMemory(0)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	t := &Tasks{options: o, process: rand.Text(), lease: processTime, shown: make(chan struct{}), running: map[string]*run{}, places: share.New(o.MaxRunning), listeners: map[string]map[*listener]struct{}{}, opening: make(chan struct{}, 1)}
	if o.Store != nil {
		t.store.Store(&o.Store)
	}
	t.ctx, t.end = context.WithCancelCause(context.Background())
	return t, nil
}

// open returns the store.
func (t *Tasks) open(ctx context.Context) (state.Store, error) {
	if s := t.store.Load(); s != nil {
		return *s, nil
	}
	select {
	case t.opening <- struct{}{}:
		defer func() { <-t.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s := t.store.Load(); s != nil {
		return *s, nil
	}
	s, err := t.options.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("what keeps the tasks cannot be opened: %w", err)
	}
	t.store.Store(&s)
	return s, nil
}

// Close ends the tasks that run; they fail with [ErrClosed].
func (t *Tasks) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end(ErrClosed)
	t.runs.Wait()
	return nil
}

// Middleware returns the middleware that makes tasks of calls to a Handler, and answers requests about them. The context of
// a task has the values of the newest request about it that its owner made with the same scopes, and then those of the call.
func (t *Tasks) Middleware() mcp.Middleware { return t.Part("") }

// Part is as Middleware, for one of several Handlers that share the Tasks, as the profiles of a gateway: a task that
// was begun through one part is not known in the others, and goes on in that part after a restart. Names of parts must
// stay the same over restarts.
func (t *Tasks) Part(name string) mcp.Middleware {
	calls, requests := t.Split(name)
	return func(next mcp.Handler) mcp.Handler { return calls(requests(next)) }
}

// Split is Part in two, for who has other middleware between them: calls makes tasks of calls, and requests answers requests about
// tasks. What is between sees a call once, however long it runs as a task, and each request about a task.
func (t *Tasks) Split(name string) (calls, requests mcp.Middleware) {
	calls = func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			ctx = granted.WithPart(ctx, name)
			switch req.Method {
			case "tools/call":
				return t.call(ctx, req, next)
			case "tools/list":
				return t.list(ctx, req, next)
			case "server/discover":
				return t.discover(ctx, req, next)
			case "tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "subscriptions/listen":
				ctx = context.WithValue(ctx, handlerKey{}, next)
			}
			return next.Handle(ctx, req)
		})
	}
	requests = func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Method {
			case "tasks/get", "tasks/update", "tasks/cancel", "tasks/list":
				switch {
				case !Declared(req.Meta.Capabilities):
					return mcp.Result{}, form.Missing()
				case req.Method == "tasks/list":
					return t.own(ctx, req)
				}
				return t.about(ctx, req)
			case "subscriptions/listen":
				return t.listen(ctx, req, next)
			case "tools/call":
				granted.Called(ctx, req.Name)
			}
			return next.Handle(ctx, req)
		})
	}
	return calls, requests
}

// handlerKey is the key of the Handler that gets the calls of tools which become tasks.
type handlerKey struct{}

// Declared reports whether a client knows tasks.
func Declared(c *mcp.ClientCapabilities) bool { return form.Declared(c) }

// discover adds the extension to what the Handler says of itself.
func (t *Tasks) discover(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	result, err := next.Handle(ctx, req)
	if err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	object := func(raw json.RawMessage) json.RawMessage {
		if raw == nil {
			return json.RawMessage(`{}`)
		}
		return raw
	}
	capabilities := object(jsonrpc.Get(body, "capabilities"))
	extensions := jsonrpc.With(object(jsonrpc.Get(capabilities, "extensions")), Extension, []byte(`{}`))
	return result.WithJSON(jsonrpc.With(body, "capabilities", jsonrpc.With(capabilities, "extensions", extensions))), nil
}

// tool is what is said of a tool; found is false if nothing is. Where several patterns match, what any of them demands
// holds, and the shortest After.
func (t *Tasks) tool(name string) (tool Tool, found bool) {
	if tool, found = t.options.Tools[name]; found {
		return tool, true
	}
	for pattern, said := range t.options.Tools {
		if matches, _ := path.Match(pattern, name); matches {
			tool.Required, tool.Later, found = tool.Required || said.Required, tool.Later || said.Later, true
			if said.After > 0 && (tool.After == 0 || said.After < tool.After) {
				tool.After = said.After
			}
		}
	}
	return tool, found
}

// call runs a tool: as a task, or as always.
func (t *Tasks) call(ctx context.Context, req *mcp.Request, next mcp.Handler) (mcp.Result, error) {
	tool, found := t.tool(req.Name)
	if !found && t.options.Others != nil {
		tool, found = *t.options.Others, true
	}
	switch {
	case !found:
		return next.Handle(ctx, req)
	case !Declared(req.Meta.Capabilities) && tool.Required:
		return mcp.Result{}, form.Missing()
	case !Declared(req.Meta.Capabilities):
		return next.Handle(ctx, req)
	}
	r := t.newRun(ctx, req, next)
	if !tool.Later {
		if err := r.begin(ctx); err != nil {
			r.stop(err)
			return mcp.Result{}, err
		}
		r.start()
		return r.created()
	}
	r.start()
	var due <-chan time.Time
	if tool.After > 0 {
		timer := time.NewTimer(tool.After)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		if !r.asks.Load() && r.begin(ctx) == nil {
			return r.created()
		}
		<-r.ended // it cannot become one, and goes on as it is
		return r.result, r.err
	case <-r.begun:
		return r.created()
	case <-r.ended:
		select {
		case <-r.begun: // and ended at once
			return r.created()
		default:
		}
		return r.result, r.err
	}
}

// about answers a request about a task.
func (t *Tasks) about(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	id, err := form.ID(req.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	asking := ctx
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	task, err := t.find(ctx, id, req.Principal)
	if err != nil {
		return mcp.Result{}, err
	}
	if t.options.OnRequest != nil {
		t.options.OnRequest(asking, req, task.Tool)
	}
	t.asked(asking, id, req)
	switch req.Method {
	case "tasks/get":
		return mcp.Result{Value: task.detailed()}, nil
	case "tasks/update":
		return t.update(ctx, id, req)
	}
	return t.cancel(ctx, id)
}

// update takes the client's responses to requests of the task. Those that nobody waits for are ignored.
func (t *Tasks) update(ctx context.Context, id string, req *mcp.Request) (mcp.Result, error) {
	var responses map[string]json.RawMessage
	if err := json.Unmarshal(jsonrpc.Get(req.Params, "inputResponses"), &responses); err != nil {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "inputResponses: expected an object of responses")
	}
	_, err := t.change(ctx, id, func(task *record) error {
		if task.isOver() {
			return errUnchanged
		}
		for key, response := range responses {
			if task.Inputs[key] != nil {
				delete(task.Inputs, key)
				task.Responses[key] = response
			}
		}
		if len(task.Inputs) == 0 {
			task.Status = working
		}
		return nil
	})
	if r := t.runOf(id); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.answered)
		r.answered = make(chan struct{})
	}
	return mcp.Result{}, err
}

// cancel ends a task. One that is over stays as it is.
func (t *Tasks) cancel(ctx context.Context, id string) (mcp.Result, error) {
	_, err := t.change(ctx, id, func(task *record) error { return task.end(cancelled) })
	if r := t.runOf(id); r != nil {
		r.stop(errCancelled)
	}
	return mcp.Result{}, err
}

// runOf returns the run of a task in this process; nil if it does not run here.
func (t *Tasks) runOf(id string) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[id]
}
