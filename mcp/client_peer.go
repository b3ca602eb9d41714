package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

type progressKey struct{}

// WatchProgress returns a context in which requests of a [Client] report their progress to f. There
// is at most one call of f at a time for each request, and it delays further notifications.
// Progress extends the timeout of the request.
func WatchProgress(ctx context.Context, f func(p ProgressUpdate)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

func progressFrom(ctx context.Context) func(ProgressUpdate) {
	f, _ := ctx.Value(progressKey{}).(func(ProgressUpdate))
	return f
}

// A clientPeer is the Peer of a client's own requests. It calls the client's callbacks.
type clientPeer struct {
	client   *Client
	progress func(ProgressUpdate)
	notified func(method string, params json.RawMessage)
	idle     *idle.Timer
	listens  bool // the request is a subscriptions/listen
}

// Notify calls the callback for a notification.
func (p *clientPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	switch method {
	case notificationProgress:
		p.idle.Restart()
		f := p.progress
		if f == nil {
			f = p.client.options.OnProgress
		}
		var update ProgressUpdate
		if f != nil && schema.DecodeLoose(orEmptyObject(params), &update) == nil {
			f(update)
		}
	case notificationMessage:
		var m LogMessage
		if p.client.options.OnLog != nil && schema.DecodeLoose(orEmptyObject(params), &m) == nil && m.Level.Severity() >= p.client.options.LogLevel.Severity() {
			p.client.options.OnLog(m)
		}
	case notificationElicitComplete:
		if id, ok := jsonrpc.Unquote(memberOrNil(params, "elicitationId")); ok && p.client.options.OnElicitComplete != nil {
			p.client.options.OnElicitComplete(ctx, id)
		}
	default:
		p.client.cache.drop(method, params)
		if p.notified != nil {
			p.notified(method, params)
		}
	}
	return nil
}

// Ask calls the callback for a request of the server.
func (p *clientPeer) Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	o := &p.client.options
	if err := o.self.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	defer p.idle.Hold()()
	switch {
	case q.Method == methodElicit && o.OnElicit != nil:
		return p.askElicit(ctx, o, q)
	case q.Method == methodSample && o.OnSample != nil:
		return p.askSample(ctx, o, q)
	case q.Method == methodRootsList && o.OnRoots != nil:
		roots, err := o.OnRoots(ctx)
		if err != nil {
			return nil, p.failed(ctx, "OnRoots", err)
		}
		if roots == nil {
			roots = []Root{}
		}
		return schema.Encode(nil, listRootsResult{roots})
	}
	if p.listens && o.OneClient != nil {
		return nil, ErrInputRequired // the client receives it with its next request
	}
	return nil, Errorf(CodeMethodNotFound, "%s: this client does not take this request", q.Method)
}

// failed logs the error of a callback and returns it. Without the log record, the author of the
// callback would not see the error.
func (p *clientPeer) failed(ctx context.Context, callback string, err error) error {
	if !errors.Is(err, ErrInputRequired) && ctx.Err() == nil {
		p.client.options.logger().Warn("mcp: a callback of the client failed", "callback", callback, "server", p.client.options.Name, "error", err)
	}
	return err
}

func (p *clientPeer) askElicit(ctx context.Context, o *ClientOptions, q ServerRequest) (json.RawMessage, error) {
	var req ElicitRequest
	if err := schema.DecodeLoose(orEmptyObject(q.Params), &req); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", q.Method, err)
	}
	req.Key = q.Key
	result, err := o.OnElicit(ctx, req)
	if err != nil {
		if err = p.failed(ctx, "OnElicit", err); errors.Is(err, ErrInputRequired) || ctx.Err() != nil {
			return nil, err
		}
		result = nil // a modern server does not accept an error there
	}
	if result != nil {
		var fault error
		if result, fault, err = completed(req, result); err != nil {
			return nil, err
		}
		if fault != nil {
			p.client.options.logger().Error("mcp: the server gets a dismissed form, because OnElicit returned a result that cannot be sent", "server", p.client.options.Name, "error", fault)
		}
	}
	if result == nil {
		result = &ElicitResult{Action: ElicitCancel}
	}
	return schema.Encode(nil, result)
}

// completed checks a result of OnElicit, and adds the form's defaults to accepted content. A fault
// is a mistake of OnElicit, and err one of the server.
func completed(req ElicitRequest, result *ElicitResult) (complete *ElicitResult, fault, err error) {
	switch result.Action {
	case ElicitAccept:
	case ElicitDecline, ElicitCancel:
		return &ElicitResult{Action: result.Action}, nil, nil // content would belong to an accepted form
	default:
		return nil, fmt.Errorf("OnElicit: Action: expected %q, %q or %q, got %.100q", ElicitAccept, ElicitDecline, ElicitCancel, result.Action), nil
	}
	if req.Mode == ElicitURL || req.RequestedSchema == nil {
		if result.Content != nil && !json.Valid(result.Content) {
			return nil, errors.New("OnElicit: Content: expected one JSON object, got text that is not JSON"), nil
		}
		return result, nil, nil
	}
	form, err := schema.Compile(req.RequestedSchema)
	if err != nil {
		return nil, nil, Errorf(CodeInvalidParams, "the server's form: %v", err)
	}
	content, fault := form.Complete(orEmptyObject(result.Content))
	if fault != nil {
		return nil, fmt.Errorf("OnElicit: Content does not fit the form: %w", fault), nil
	}
	return &ElicitResult{Action: result.Action, Content: content}, nil, nil
}

func (p *clientPeer) askSample(ctx context.Context, o *ClientOptions, q ServerRequest) (json.RawMessage, error) {
	var req CreateMessageRequest
	if err := schema.DecodeLoose(orEmptyObject(q.Params), &req); err != nil {
		return nil, Errorf(CodeInvalidParams, "%s: %v", q.Method, err)
	}
	req.Key = q.Key
	result, err := o.OnSample(ctx, req)
	if err != nil {
		return nil, p.failed(ctx, "OnSample", err)
	}
	return schema.Encode(nil, result)
}

// A Notification is a notification in a subscription (basic/patterns/subscriptions).
type Notification struct {
	// Method is the method of the notification, such as "notifications/tools/list_changed".
	Method string
	// URI is the URI of the changed resource, for updates of resources.
	URI string
}

// errNothingAgreed is the cause of the end of a subscription to which the server agreed in no part.
var errNothingAgreed = errors.New("the server sends none of the notifications that the filter selects; it may not know these URIs")

// Listen calls f with each notification that the filter selects, until ctx is done or the server
// ends the subscription. It returns nil if the server ended it, and otherwise the reason. It returns
// an error at once if the server agrees to no part of a filter with URIs. There is at most one call
// of f at a time.
func (c *Client) Listen(ctx context.Context, filter SubscriptionFilter, f func(Notification)) error {
	listening, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := c.ListenWith(listening, filter, f, func(agreed SubscriptionFilter) {
		if len(filter.ResourceSubscriptions) > 0 && len(agreed.ResourceSubscriptions)+len(agreed.Lists()) == 0 {
			end(errNothingAgreed)
		}
	})
	if errors.Is(context.Cause(listening), errNothingAgreed) {
		return fmt.Errorf("server %q: %s: %w", c.options.Name, methodListen, errNothingAgreed)
	}
	return err
}

// ListenWith is like [Client.Listen]. Before the first call of f, it calls agreed, if not nil, with
// the part of the filter that the server supports; if there is none, the caller may end ctx. No
// notification after that is missed.
func (c *Client) ListenWith(ctx context.Context, filter SubscriptionFilter, f func(Notification), agreed func(SubscriptionFilter)) error {
	w := jsonrpc.NewObject(nil)
	if err := schema.EncodeMember(&w, "notifications", filter); err != nil {
		return err
	}
	req := NewRequest(methodListen, w.Bytes())
	req.Meta, req.Caller = *c.options.self, c
	req.Peer = &clientPeer{client: c, listens: true, notified: func(method string, params json.RawMessage) {
		if method != notificationAcknowledged {
			uri, _ := jsonrpc.Unquote(memberOrNil(params, "uri"))
			f(Notification{Method: method, URI: uri})
			return
		}
		var offered SubscriptionFilter
		if agreed != nil && schema.DecodeLoose(orEmptyObject(memberOrNil(params, "notifications")), &offered) == nil {
			agreed(offered)
		}
	}}
	_, err := c.handler.Handle(ctx, req)
	if err != nil && ctx.Err() != nil {
		err = c.ended(ctx, req, err)
	}
	return err
}
