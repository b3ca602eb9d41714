package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/traffic"
)

const (
	maxRequests     = 500      // maximum number of stored requests of a connection
	maxRequestBytes = 32 << 20 // maximum bytes of their parameters, messages, results and errors
	maxRunning      = 64       // maximum number of concurrent requests of a connection
	maxListBytes    = 16 << 20 // maximum bytes of a list that is read completely
	defaultTimeout  = time.Minute
	maxTimeout      = 30 * time.Minute
)

// The states of a request.
const (
	running   = "running"
	done      = "done"
	cancelled = "cancelled"
)

// A pageRequest is a request of a page, with its outcome.
type pageRequest struct {
	Request  uint64          `json:"request"`
	Method   string          `json:"method"`
	Params   json.RawMessage `json:"params,omitempty"`
	Task     bool            `json:"task,omitempty"` // set if the server may make the call a task, whose end the call does not wait for
	State    string          `json:"state"`
	Began    time.Time       `json:"began"`
	Millis   int64           `json:"ms"` // 0 until the request ends
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *failure        `json:"error,omitempty"`
	Findings []finding       `json:"findings,omitempty"`

	cancel          context.CancelCauseFunc
	ctx             context.Context // done when the request ends
	clock           *idle.Timer     // cancels a request that makes no progress
	messageFindings []finding       // findings about messages that belong to the request
	message         json.RawMessage // the message that was sent to the server
	url             string          // the URL that it was sent to
	header          http.Header     // the headers that it was sent with
}

// size returns the number of bytes that count for maxRequestBytes. It includes errors and findings,
// because a server can make them large.
func (a *pageRequest) size() int {
	n := len(a.Params) + len(a.Result) + len(a.message)
	if a.Error != nil {
		n += len(a.Error.Cause) + len(a.Error.Remedy) + len(a.Error.Data)
	}
	for _, f := range a.Findings {
		n += len(f.Subject) + len(f.Where) + len(f.Problem) + len(f.Remedy)
	}
	return n
}

// refusalOf returns an error text if a page may not send requests with this method, because there is
// another route for it or only connecting needs it.
func refusalOf(method string) string {
	switch method {
	case "":
		return `expected a "method", such as tools/call`
	case "initialize", "notifications/initialized":
		return "the connection is initialized already"
	case "subscriptions/listen", "resources/subscribe", "resources/unsubscribe":
		return "the route subscriptions sets the filter"
	case "logging/setLevel":
		return "the route loglevel sets the level"
	}
	return ""
}

// ask starts a request.
func (c *connection) ask(r *http.Request) (any, error) {
	var in struct {
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
		Task    bool            `json:"task"`
		Seconds float64         `json:"timeout"`
	}
	if err := decode(r, &in, maxBody); err != nil {
		return nil, err
	}
	if why := refusalOf(in.Method); why != "" {
		return nil, reply.Refuse(http.StatusBadRequest, "%s", why)
	}
	if len(in.Params) > 0 && in.Params[0] != '{' && string(in.Params) != "null" {
		return nil, reply.Refuse(http.StatusBadRequest, `"params": expected an object`)
	}
	if string(in.Params) == "null" {
		in.Params = nil
	}
	client, a, err := c.connectedTo()
	if err != nil {
		return nil, err
	}
	limit := min(time.Duration(in.Seconds*float64(time.Second)), maxTimeout)
	if limit <= 0 {
		if limit = a.opened.Client.Timeout; limit <= 0 {
			limit = defaultTimeout
		}
	}
	q := &pageRequest{Method: in.Method, Params: in.Params, Task: in.Task, State: running, Began: time.Now().UTC()}
	if err := c.enter(q, limit); err != nil {
		return nil, err
	}
	if !c.spawn(func() { c.perform(q, client, a) }) {
		return nil, reply.Refuse(http.StatusConflict, "the connection ends")
	}
	return reply.Accepted{Body: map[string]uint64{"request": q.Request}}, nil
}

// enter assigns a number to a request and stores it. It removes the oldest finished requests if
// there are too many.
func (c *connection) enter(q *pageRequest, limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := 0
	for _, one := range c.requests {
		if one.State == running {
			now++
		}
	}
	if now >= maxRunning {
		return reply.Refuse(http.StatusTooManyRequests, "%d requests run on this connection: wait for one, or cancel it", now)
	}
	call := c.log.Calling("", "", q.Method, "")
	q.Request = traffic.CallOf(call)
	ctx, cancel := context.WithCancelCause(mcp.WithNoteObserver(context.WithValue(c.ctx, requestKey{}, q), call))
	q.ctx, q.cancel = ctx, cancel
	q.clock = idle.After(limit, func() {
		cancel(fmt.Errorf("no answer, and no progress, within %v: %w", limit, context.DeadlineExceeded))
	})
	c.requests = append(c.requests, q)
	c.requestBytes += q.size()
	c.trim()
	return nil
}

// trim removes the oldest finished requests while there are too many. The caller holds mu.
func (c *connection) trim() {
	for i := 0; i < len(c.requests) && (len(c.requests) > maxRequests || c.requestBytes > maxRequestBytes); {
		if c.requests[i].State == running {
			i++
			continue
		}
		c.requestBytes -= c.requests[i].size()
		c.requests = slices.Delete(c.requests, i, i+1)
	}
}

type requestKey struct{}

// requestOf returns the number of the page's request that ctx belongs to, or 0.
func requestOf(ctx context.Context) uint64 {
	if q, is := ctx.Value(requestKey{}).(*pageRequest); is {
		return q.Request
	}
	return 0
}

// perform makes a request, and adds events for its start and its outcome.
func (c *connection) perform(q *pageRequest, client *mcp.Client, a *attempt) {
	defer q.cancel(nil)
	defer q.clock.Stop()
	c.journal.add("request", q.copy(c))
	ctx := mcp.WatchProgress(q.ctx, func(mcp.ProgressUpdate) { q.clock.Restart() })
	result, findings, err := c.do(ctx, q, client)
	var failed *failure
	if err != nil {
		failed = c.failureOf(ctx, a, q, err)
		failed.Cause = plaintext.Line(failed.Cause, maxDetail)
	}
	c.mu.Lock()
	c.requestBytes -= q.size()
	findings = append(findings, q.messageFindings...)
	q.State, q.Result, q.Findings, q.Error = done, result, findings, failed
	q.Millis = time.Since(q.Began).Milliseconds()
	if failed != nil && errors.Is(context.Cause(ctx), errCancelled) {
		q.State = cancelled
	}
	c.requestBytes += q.size()
	c.trim()
	c.mu.Unlock()
	for _, f := range findings {
		c.journal.add("finding", f)
	}
	c.journal.add("result", q.forEvent(c))
}

// copy returns a copy of the request in its present state.
func (a *pageRequest) copy(c *connection) pageRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *a
}

// forEvent returns a copy for an event. The copy lacks a large result, which has a route of its own.
func (a *pageRequest) forEvent(c *connection) any {
	now := a.copy(c)
	large := len(now.Result) > maxOneEvent
	if now.Params = nil; large {
		now.Result = nil
	}
	return struct {
		pageRequest
		Large bool `json:"large,omitempty"`
	}{now, large}
}

var errCancelled = errors.New("it was cancelled")

// do makes the request, and returns its result and the findings about it.
func (c *connection) do(ctx context.Context, q *pageRequest, client *mcp.Client) (json.RawMessage, []finding, error) {
	if m := revision.MethodNamed(q.Method); m.Key != "" && m.Core && jsonrpc.Get(q.Params, "cursor") == nil { // a list without a cursor
		return c.whole(ctx, q, client, m.Member)
	}
	if q.Method == "ping" {
		return json.RawMessage(`{}`), nil, client.Ping(ctx)
	}
	result, err := client.Do(ctx, q.Method, q.Params)
	if err != nil {
		return nil, nil, err
	}
	body, err := result.Encoded()
	if err != nil {
		return nil, nil, err
	}
	if result.Type != "" {
		body = jsonrpc.With(body, "resultType", jsonrpc.AppendString(nil, result.Type))
	}
	if result.Meta != nil {
		body = jsonrpc.With(body, "_meta", result.Meta)
	}
	return body, c.checkResult(ctx, q, client, body, result.Type), nil
}

// whole reads all pages of a list.
func (c *connection) whole(ctx context.Context, q *pageRequest, client *mcp.Client, array string) (json.RawMessage, []finding, error) {
	const entrySize = 64 // approximate overhead of an entry in bytes; most of the memory of a list of numbers
	w := jsonrpc.NewObject(nil)
	w.Array(array)
	var entries []json.RawMessage
	for entry, err := range client.List(ctx, q.Method, array) {
		if err != nil {
			return nil, nil, err
		}
		if w.Len()+len(entries)*entrySize > maxListBytes {
			return nil, nil, fmt.Errorf("the list takes more than %d MiB: ask for a page by its cursor", maxListBytes>>20)
		}
		q.clock.Restart()
		w.Element(entry)
		entries = append(entries, entry)
	}
	w.End()
	return w.Bytes(), c.checkList(q, entries), nil
}

// marked is middleware that adds the settings of the page to requests.
func (c *connection) marked(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		with := *req
		c.mu.Lock()
		with.Meta.LogLevel = c.level
		c.mu.Unlock()
		q, _ := ctx.Value(requestKey{}).(*pageRequest)
		if q != nil && (q.Task || len(q.Method) > 6 && q.Method[:6] == "tasks/") {
			knows := mcp.ClientCapabilities{}
			if with.Meta.Capabilities != nil {
				knows = *with.Meta.Capabilities
			}
			knows.Extensions = maps.Clone(knows.Extensions)
			if knows.Extensions == nil {
				knows.Extensions = map[string]json.RawMessage{}
			}
			knows.Extensions[tasks.Extension] = json.RawMessage(`{}`)
			with.Meta.Capabilities = &knows
		}
		return next.Handle(ctx, &with)
	})
}

// history lists the requests, without their results.
func (c *connection) history(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []pageRequest{}
	for _, q := range c.requests {
		brief := *q
		brief.Result = nil
		all = append(all, brief)
	}
	return struct {
		Requests []pageRequest `json:"requests"`
	}{all}, nil
}

func (c *connection) numbered(r *http.Request) (*pageRequest, error) {
	n, _ := strconv.ParseUint(r.PathValue("n"), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.requestNumbered(n); q != nil {
		return q, nil
	}
	return nil, reply.Refuse(http.StatusNotFound, "there is no request %s, or it is forgotten: the last %d are kept", r.PathValue("n"), maxRequests)
}

func (c *connection) request(r *http.Request) (any, error) {
	q, err := c.numbered(r)
	if err != nil {
		return nil, err
	}
	return q.copy(c), nil
}

func (c *connection) cancel(r *http.Request) (any, error) {
	q, err := c.numbered(r)
	if err == nil {
		q.cancel(errCancelled)
	}
	return nil, err
}

// requestNumbered returns the request with a number, or nil. The caller holds mu.
func (c *connection) requestNumbered(n uint64) *pageRequest {
	if i := slices.IndexFunc(c.requests, func(q *pageRequest) bool { return q.Request == n }); i >= 0 {
		return c.requests[i]
	}
	return nil
}

// headersFor stores the URL and the headers that a request was sent with.
func (c *connection) headersFor(n uint64, method, url string, h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.requestNumbered(n); q != nil && q.header == nil && q.Method == method {
		q.url, q.header = url, h.Clone()
	}
}
