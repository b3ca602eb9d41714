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
	// afterTime is the minimum time that an ended task is stored, so that its client can read the
	// result.
	afterTime = 10 * time.Minute
	// processTime is how long a task counts as running after its process died.
	processTime = 10 * time.Second
	// storeTime is the timeout of one change of a task in the store.
	storeTime = 10 * time.Second
)

// Options decides which calls become tasks.
type Options struct {
	// Tools contains the tools whose calls may become tasks. The keys are names, or patterns of
	// [path.Match].
	Tools map[string]Tool
	// Others, if not nil, applies to all other tools, such as the tools behind a gateway. Lists do
	// not mark these tools as tools that may run as tasks.
	Others *Tool
	// Store stores the tasks. By default, they are stored in memory.
	Store state.Store
	// Open, if not nil, opens the store when it is first used. The caller must close the store
	// after Close.
	Open func(ctx context.Context) (state.Store, error)
	// TTL is the maximum duration of a task, and how long a task is stored after its start. The
	// default is one hour.
	TTL time.Duration
	// Poll is the interval at which clients should request the state of a task. The default is one
	// second.
	Poll time.Duration
	// MaxRunning is the maximum number of tasks that run at the same time in this process. The
	// default is 1,000. One user may have a quarter of them. Further calls fail; with Later and
	// After, they continue as ordinary calls.
	MaxRunning int
	// OnRequest, if not nil, is called for each permitted request about a task, with the context of
	// the request and the tool that the task runs. It must be safe for concurrent use.
	OnRequest func(ctx context.Context, req *mcp.Request, tool string)
	// Logger receives errors that no client gets. The default is slog.Default().
	Logger *slog.Logger
}

// A Tool decides how calls of a tool become tasks.
type Tool struct {
	// Required refuses calls from clients that do not support tasks. By default, such clients wait
	// for the result.
	Required bool
	// Later makes a call a task only when the tool calls [Begin]. Requests to the user before that
	// are sent between rounds of the call.
	Later bool
	// After, with Later, is how long a call may run before it becomes a task. 0 means no limit.
	After time.Duration
}

// A Tasks runs calls as tasks. It is safe for concurrent use.
type Tasks struct {
	options Options
	process string // name of this process among the processes that share the store
	lease   time.Duration

	ctx   context.Context // ends when the Tasks is closed
	end   context.CancelCauseFunc
	runs  sync.WaitGroup
	alive sync.Once     // starts the lease that shows that this process is alive
	shown chan struct{} // closed when the lease is held

	opening chan struct{} // capacity 1; contains a value while the store is opened
	store   atomic.Pointer[state.Store]

	mu        sync.Mutex
	running   map[string]*run                   // by task id
	places    *share.Budget                     // shares of running
	listeners map[string]map[*listener]struct{} // by task id
	closed    bool
}

// ErrClosed is the cause that ends running tasks when their server is closed.
var ErrClosed = errors.New("the server was stopped")

// New returns a Tasks. The error names a malformed pattern.
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

// open returns the store. It opens the store if needed.
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
		return nil, fmt.Errorf("the store of the tasks cannot be opened: %w", err)
	}
	t.store.Store(&s)
	return s, nil
}

// Close ends the running tasks, which fail with [ErrClosed].
func (t *Tasks) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end(ErrClosed)
	t.runs.Wait()
	return nil
}

// Middleware returns middleware that makes calls to a Handler tasks, and that handles requests
// about these tasks. The context of a task has the values of the newest request about it from its
// owner with the same scopes. All other values come from the context of the call.
func (t *Tasks) Middleware() mcp.Middleware { return t.Part("") }

// Part is like Middleware, for one of several Handlers that share the Tasks, such as the profiles
// of a gateway. A task of one part is unknown in the other parts. After a restart, it continues in
// its own part. So the names of parts must be the same after a restart.
func (t *Tasks) Part(name string) mcp.Middleware {
	calls, requests := t.Split(name)
	return func(next mcp.Handler) mcp.Handler { return calls(requests(next)) }
}

// Split returns the middleware of Part in two parts, so that other middleware can be placed between
// them. The first, calls, makes calls tasks. The second, requests, handles requests about tasks.
// Middleware between them sees each call only once, even if it runs long as a task, and each
// request about a task.
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

// handlerKey is the context key of the Handler for calls that become tasks.
type handlerKey struct{}

// Declared reports whether a client declared support for tasks.
func Declared(c *mcp.ClientCapabilities) bool { return form.Declared(c) }

// discover adds the extension to the Handler's server/discover result.
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

// tool returns the options of a tool, and reports whether it has any. If several patterns match,
// the strictest options and the shortest After apply.
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

// call runs a tool, as a task or as an ordinary call.
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
	if !tool.Later || form.AtOnce(ctx) {
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
		<-r.ended // the call cannot become a task, and continues
		return r.result, r.err
	case <-r.begun:
		return r.created()
	case <-r.ended:
		select {
		case <-r.begun: // the task began and ended at the same moment
			return r.created()
		default:
		}
		return r.result, r.err
	}
}

// about handles a request about a task.
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

// update stores the client's responses to requests of the task. It ignores other responses.
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

// cancel ends a task, unless it has ended already.
func (t *Tasks) cancel(ctx context.Context, id string) (mcp.Result, error) {
	_, err := t.change(ctx, id, func(task *record) error { return task.end(cancelled) })
	if r := t.runOf(id); r != nil {
		r.stop(errCancelled)
	}
	return mcp.Result{}, err
}

// Running returns the number of tasks that run in this process.
func (t *Tasks) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running)
}

// runOf returns the run of a task in this process, or nil.
func (t *Tasks) runOf(id string) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[id]
}
