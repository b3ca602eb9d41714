package mcp

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

type progressKey struct{}

// WatchProgress returns a context in which requests of a [Client] tell f how far
// they have come. f is called by one goroutine at a time for each request, and
// holds up what the server tells next; progress extends the request's timeout.
func WatchProgress(ctx context.Context, f func(p ProgressUpdate)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

func progressFrom(ctx context.Context) func(ProgressUpdate) {
	f, _ := ctx.Value(progressKey{}).(func(ProgressUpdate))
	return f
}

// A clientPeer is the Peer of a client's own requests: its callbacks.
type clientPeer struct {
	client   *Client
	progress func(ProgressUpdate)
	news     func(method string, params json.RawMessage)
	patience patience
}

// Notify tells the callbacks.
func (p *clientPeer) Notify(_ context.Context, method string, params json.RawMessage) error {
	p.patience.renew()
	switch method {
	case notificationProgress:
		p.notifyProgress(params)
	case notificationMessage:
		var m LogMessage
		if p.client.options.OnLog != nil && schema.DecodeLoose(orEmptyObject(params), &m) == nil && m.Level.Severity() >= p.client.options.LogLevel.Severity() {
			p.client.options.OnLog(m)
		}
	default:
		p.client.cache.drop(method, params)
		if p.news != nil {
			p.news(method, params)
		}
	}
	return nil
}

func (p *clientPeer) notifyProgress(params json.RawMessage) {
	f := p.progress
	if f == nil {
		f = p.client.options.OnProgress
	}
	var update ProgressUpdate
	if f != nil && schema.DecodeLoose(orEmptyObject(params), &update) == nil {
		f(update)
	}
}

// Ask asks the callbacks.
func (p *clientPeer) Ask(ctx context.Context, q Question) (json.RawMessage, error) {
	o := &p.client.options
	if err := o.self.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	defer p.patience.hold()()
	switch {
	case q.Method == methodElicit && o.OnElicit != nil:
		return askElicit(ctx, o, q)
	case q.Method == methodSample && o.OnSample != nil:
		return askSample(ctx, o, q)
	case q.Method == methodRootsList && o.OnRoots != nil:
		roots, err := o.OnRoots(ctx)
		if err != nil {
			return nil, err
		}
		if roots == nil {
			roots = []Root{}
		}
		return schema.Encode(nil, listRootsResult{roots})
	}
	return nil, Errorf(CodeMethodNotFound, "%s: this client cannot be asked that", q.Method)
}

func askElicit(ctx context.Context, o *ClientOptions, q Question) (json.RawMessage, error) {
	var req ElicitRequest
	if err := schema.DecodeLoose(orEmptyObject(q.Params), &req); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", q.Method, err)
	}
	req.Key = q.Key
	result, err := o.OnElicit(ctx, req)
	if err != nil {
		return nil, err
	}
	if result == nil {
		result = &ElicitResult{Action: ElicitCancel}
	}
	if result.Action == ElicitAccept && req.Mode != ElicitURL && req.RequestedSchema != nil {
		if result, err = completed(req, result); err != nil {
			return nil, err
		}
	}
	return schema.Encode(nil, result)
}

// completed fills an accepted form with its defaults and checks it.
func completed(req ElicitRequest, result *ElicitResult) (*ElicitResult, error) {
	form, err := schema.Compile(req.RequestedSchema)
	if err != nil {
		return nil, Errorf(CodeInvalidParams, "the server's form: %v", err)
	}
	filled := &ElicitResult{Action: result.Action, Content: form.ApplyDefaults(orEmptyObject(result.Content))}
	if err := form.Validate(filled.Content); err != nil {
		return nil, Errorf(CodeInvalidParams, "the answer does not fit the form: %v", err)
	}
	return filled, nil
}

func askSample(ctx context.Context, o *ClientOptions, q Question) (json.RawMessage, error) {
	var req CreateMessageRequest
	if err := schema.DecodeLoose(orEmptyObject(q.Params), &req); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", q.Method, err)
	}
	req.Key = q.Key
	result, err := o.OnSample(ctx, req)
	if err != nil {
		return nil, err
	}
	return schema.Encode(nil, result)
}

// News is a piece of news that a client listens for.
type News struct {
	// Method is the notification's name, such as "notifications/tools/list_changed".
	Method string
	// URI is the resource that changed, for resource updates.
	URI string
}

// Listen tells f the server's news until ctx is done or the server has no more,
// and returns why (nil at an orderly end). acknowledged, at most one, is called
// first, with what the server agreed to tell. f is called by one goroutine at a time.
func (c *Client) Listen(ctx context.Context, filter SubscriptionFilter, f func(News), acknowledged ...func(SubscriptionFilter)) error {
	params, err := schema.Encode([]byte(`{"notifications":`), filter)
	if err != nil {
		return err
	}
	req := NewRequest(methodListen, append(params, '}'))
	req.Meta = *c.options.self
	req.Peer = &clientPeer{client: c, news: func(method string, params json.RawMessage) {
		if method != notificationAcknowledged {
			uri, _ := jsonrpc.Unquote(memberOrNil(params, "uri"))
			f(News{Method: method, URI: uri})
			return
		}
		var agreed SubscriptionFilter
		if len(acknowledged) > 0 && schema.DecodeLoose(orEmptyObject(memberOrNil(params, "notifications")), &agreed) == nil {
			acknowledged[0](agreed)
		}
	}}
	_, err = c.handler.Handle(ctx, req)
	return err
}
