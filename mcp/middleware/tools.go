package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

const (
	methodList   = "tools/list"
	methodCall   = "tools/call"
	methodListen = "subscriptions/listen"
	acknowledged = "notifications/subscriptions/acknowledged"
	toolsChanged = "notifications/tools/list_changed"
	maxPages     = 1_000 // maximum number of pages of a list
)

// EditTools returns middleware that calls f for each tool in a list. The function f may change
// everything except the name, and reports whether to keep the tool. Clients can neither see nor
// call other tools. Members of a tool that [mcp.Tool] lacks are preserved. The function f must be
// safe for concurrent use. It may be called many times for one tool.
func EditTools(f func(t *mcp.Tool) (keep bool)) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		e := &editor{next: next, edit: f}
		return mcp.HandlerFunc(e.handle)
	}
}

// EditToolsFor is like [EditTools], for changes that depend on the client. The function f gets the
// request that lists or calls tools. Its results are not remembered, so the tools are listed again
// for each call.
func EditToolsFor(f func(ctx context.Context, req *mcp.Request, t *mcp.Tool) (keep bool)) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			edit := func(t *mcp.Tool) bool { return f(ctx, req, t) }
			return EditTools(edit)(next).Handle(ctx, req)
		})
	}
}

// An editor edits the tool lists of one Handler.
type editor struct {
	next mcp.Handler
	edit func(*mcp.Tool) bool
	kept names
}

func (e *editor) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case methodList:
		result, err := e.next.Handle(ctx, req)
		if err != nil {
			return result, err
		}
		return editList(result, e.edited)
	case methodCall:
		keep, known := e.kept.get(req.Name)
		if !known {
			_, err := listAll(ctx, mcp.HandlerFunc(e.handle), req)
			if keep, known = e.kept.get(req.Name); err != nil && !known { // it may be an omitted tool
				return mcp.Result{}, err
			}
		}
		if known && !keep {
			return mcp.Result{}, unknownTool(req.SentName())
		}
	}
	return e.next.Handle(ctx, req)
}

// edited returns the edited tool, or nil to omit the tool.
func (e *editor) edited(raw json.RawMessage) (json.RawMessage, error) {
	var tool mcp.Tool
	if err := schema.DecodeLoose(raw, &tool); err != nil {
		return nil, nil // a malformed tool cannot be edited
	}
	before, err := schema.Encode(nil, tool)
	if err != nil {
		return nil, err
	}
	name := tool.Name
	keep := e.edit(&tool)
	tool.Name = name
	e.kept.set(name, keep)
	if !keep {
		return nil, nil
	}
	after, err := schema.Encode(nil, tool)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", name, err)
	}
	if bytes.Equal(before, after) {
		return raw, nil
	}
	return merged(raw, after), nil
}

// merged returns the edited tool, with those members of the raw tool that mcp.Tool lacks.
func merged(raw, edited json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(make([]byte, 0, len(raw)+len(edited)))
	w.Members(raw, "name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "_meta")
	w.Members(edited)
	return w.Bytes()
}

// RenameTools returns middleware that renames tools. The map newNames contains the new names by the
// old ones. A tool cannot be called by its old name, unless that is the new name of another tool.
// RenameTools panics if two tools would get the same name.
func RenameTools(newNames map[string]string) mcp.Middleware {
	newNames = maps.Clone(newNames)
	oldNames := make(map[string]string, len(newNames))
	for old, name := range newNames {
		if other, taken := oldNames[name]; taken {
			panic(fmt.Sprintf("middleware: RenameTools: %q and %q would both be called %q", other, old, name))
		}
		oldNames[name] = old
	}
	rename := func(raw json.RawMessage) (json.RawMessage, error) {
		old, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
		name, renamed := newNames[old]
		if !renamed {
			return raw, nil
		}
		return jsonrpc.With(raw, "name", jsonrpc.AppendString(nil, name)), nil
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == methodCall {
				if old, renamed := oldNames[req.Name]; renamed {
					req = req.Renamed(old)
				} else if _, gone := newNames[req.Name]; gone {
					return mcp.Result{}, unknownTool(req.SentName())
				}
			}
			result, err := next.Handle(ctx, req)
			if err != nil || req.Method != methodList {
				return result, err
			}
			return editList(result, rename)
		})
	}
}

// AddTools returns middleware that adds the tools of another Handler, such as an [mcp.Server] or an
// [mcp.Client]. If both Handlers have a tool with the same name, the added tool is used. Package
// gateway also combines resources and prompts, and more than two servers.
func AddTools(from mcp.Handler) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc((&adder{next: next, from: from}).handle)
	}
}

// An adder adds the tools of one Handler to those of another.
type adder struct {
	next, from mcp.Handler
	added      names
}

func (a *adder) handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "server/discover":
		result, err := a.next.Handle(ctx, req)
		if err != nil {
			return result, err
		}
		return offeringTools(result)
	case methodList:
		return a.list(ctx, req)
	case methodCall:
		return a.call(ctx, req)
	case methodListen:
		return a.listen(ctx, req)
	}
	return a.next.Handle(ctx, req)
}

func (a *adder) list(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	added, err := a.read(ctx, req)
	if err != nil {
		return mcp.Result{}, err
	}
	result, err := a.next.Handle(ctx, req)
	if mcp.OutcomeOf(ctx, &result, err) == mcp.OutcomeError && mcp.ErrorOf(err).Code == mcp.CodeMethodNotFound {
		result, err = mcp.Result{Value: mcp.ListToolsResult{}}, nil // the Handler has no tools of its own
	}
	if err != nil {
		return result, err
	}
	result, err = editList(result, func(raw json.RawMessage) (json.RawMessage, error) {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
		if taken, _ := a.added.get(name); taken {
			return nil, nil
		}
		return raw, nil
	})
	if err != nil || jsonrpc.Get(result.JSON, "nextCursor") != nil {
		return result, err
	}
	list := elements(result.JSON)
	return withTools(result, append(list, added...))
}

// read lists the tools to add, and remembers their names.
func (a *adder) read(ctx context.Context, req *mcp.Request) ([]json.RawMessage, error) {
	added, err := listAll(ctx, a.from, req)
	if err != nil && added == nil {
		return nil, err
	}
	for _, raw := range added {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
		a.added.set(name, true)
	}
	return added, nil
}

func (a *adder) call(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if mine, _ := a.added.get(req.Name); mine {
		return a.from.Handle(ctx, req)
	}
	result, err := a.next.Handle(ctx, req)
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	switch mcp.ErrorOf(err).Code { // the tools to add may not have been listed yet
	case mcp.CodeInvalidParams, mcp.CodeMethodNotFound:
		if _, unread := a.read(ctx, req); unread == nil {
			if mine, _ := a.added.get(req.Name); mine {
				return a.from.Handle(ctx, req)
			}
		}
	}
	return result, err
}

// listen sends the listen request to both Handlers, so that the client gets notifications of
// changes of either list.
func (a *adder) listen(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if string(jsonrpc.Get(jsonrpc.Get(req.Params, "notifications"), "toolsListChanged")) != "true" {
		return a.next.Handle(ctx, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	resumed := jsonrpc.Get(jsonrpc.Get(req.Params, "_meta"), mcp.ChangesKey) != nil
	own := &ownChanges{Peer: req.Peer, resumed: resumed, open: make(chan struct{})}
	added := &addedChanges{Peer: req.Peer, ready: make(chan struct{}), open: own.open}
	inner := req.WithParams(json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
	inner.Peer = added
	listening.Go(func() {
		_, _ = a.from.Handle(ctx, inner) // the tools of a Handler without subscriptions do not change
		added.once.Do(func() { close(added.ready) })
	})
	select {
	case <-added.ready:
	case <-ctx.Done():
		return mcp.Result{}, ctx.Err()
	}
	outer := *req
	outer.Peer = own
	return a.next.Handle(ctx, &outer)
}

// An ownChanges is the Peer of the listen request to the wrapped Handler.
type ownChanges struct {
	mcp.Peer
	resumed bool // set if the client was disconnected, or has not listened yet
	once    sync.Once
	open    chan struct{} // closed when the client has the acknowledgement
}

// Unwrap implements the method that [mcp.PeerAs] needs.
func (o *ownChanges) Unwrap() mcp.Peer { return o.Peer }

// Notify adds the tools to the acknowledgement. If the client resumes, its position does not cover
// the added tools, so they count as changed.
func (o *ownChanges) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method != acknowledged {
		return o.Peer.Notify(ctx, method, params)
	}
	agreed := jsonrpc.With(jsonrpc.Get(params, "notifications"), "toolsListChanged", []byte("true"))
	err := o.Peer.Notify(ctx, method, jsonrpc.With(params, "notifications", agreed))
	if err == nil && o.resumed {
		err = o.Peer.Notify(ctx, toolsChanged, nil)
	}
	o.once.Do(func() { close(o.open) })
	return err
}

// An addedChanges is the Peer of the listen request to the Handler whose tools are added.
type addedChanges struct {
	mcp.Peer
	once  sync.Once
	ready chan struct{} // closed when the request was acknowledged or has failed
	open  chan struct{}
}

// Unwrap implements the method that [mcp.PeerAs] needs.
func (c *addedChanges) Unwrap() mcp.Peer { return c.Peer }

// Notify passes a change of the list on, once the client has the acknowledgement. It drops the
// position, which belongs to the other Handler.
func (c *addedChanges) Notify(ctx context.Context, method string, _ json.RawMessage) error {
	switch method {
	case acknowledged:
		c.once.Do(func() { close(c.ready) })
	case toolsChanged:
		select {
		case <-c.open:
			return c.Peer.Notify(ctx, method, nil)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// offeringTools declares tools in the description of a server that declares none.
func offeringTools(result mcp.Result) (mcp.Result, error) {
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	capabilities := jsonrpc.Get(body, "capabilities")
	if jsonrpc.Get(capabilities, "tools") != nil {
		return result, nil
	}
	if capabilities == nil {
		capabilities = json.RawMessage(`{}`)
	}
	return result.WithJSON(jsonrpc.With(body, "capabilities", jsonrpc.With(capabilities, "tools", []byte(`{"listChanged":true}`)))), nil
}
