package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
)

// A Peer sends messages to the client of a request while the request runs: Notify sends a
// notification, Ask a request. Both are safe for concurrent use.
type Peer interface {
	// Notify sends a notification that belongs to the request: progress, a log message, or, for
	// subscriptions/listen, a selected change. params is one JSON object or nil; the progress token
	// and the subscription id are added on the way. Notifications that the client did not ask for
	// are dropped without an error, so callers need not check. The error reports that the client
	// cannot be reached.
	Notify(ctx context.Context, method string, params json.RawMessage) error

	// Ask sends a request to the client and returns its bare result. The error is an [*Error] if
	// the client did not declare the capability (see [ClientCapabilities.Allow]) or responded with
	// an error. If the client responds only between two rounds and has not responded to this
	// request yet, the error is [ErrInputRequired]. Return it: the Handler runs again from the top
	// when the response has come.
	Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error)
}

// NoPeer is the Peer of a request that a program makes for itself: it drops notifications and
// refuses requests to the client. Other Peers that drop or refuse embed it.
type NoPeer struct{}

// Notify drops the notification.
func (NoPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

// Ask refuses the request.
func (NoPeer) Ask(_ context.Context, q ServerRequest) (json.RawMessage, error) {
	return nil, Errorf(CodeMethodNotFound, "%s: there is no client to ask", q.Method)
}

// A ServerRequest is a request to the client: elicitation/create, sampling/createMessage or
// roots/list (client features).
type ServerRequest struct {
	// Key names the request among all that one request makes to the client. If it is empty, a name
	// is made from the content. That is right unless a Handler sends the same request twice and
	// wants the responses in a certain order.
	Key string
	// Method is the method of the request in the specification.
	Method string
	// Params is one JSON object, or nil.
	Params json.RawMessage
}

// ErrInputRequired is the error of [Peer.Ask], possibly wrapped, if the response will only come
// with the next round of the request (basic/patterns/mrtr).
var ErrInputRequired = errors.New("input required: return this error; the request runs again when the client has answered")

// Parallel runs functions that send requests to the client concurrently, and joins their errors. A
// client that can respond to several requests at once receives them at once.
//
//	err := mcp.Parallel(
//		func() (err error) { name, err = mcp.Elicit[Name](ctx, "Who are you?"); return },
//		func() (err error) { roots, err = mcp.Roots(ctx); return },
//	)
func Parallel(ask ...func() error) error {
	errs := make([]error, len(ask))
	var asking sync.WaitGroup
	for i, f := range ask {
		asking.Go(func() { errs[i] = f() })
	}
	asking.Wait()
	return errors.Join(errs...)
}

// State is the data that a request carries from one round to the next. It is sealed on the wire, so
// the client can neither read nor change it. It is safe for concurrent use.
type State struct {
	mu      sync.Mutex
	entries map[string]json.RawMessage
}

// Get returns the value stored under the key, or nil.
func (s *State) Get(key string) json.RawMessage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key]
}

// Set stores a JSON value under the key; nil removes it. Keep the whole State small: it travels
// with the client. A nil State ignores the call.
func (s *State) Set(key string, value json.RawMessage) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.entries, key)
		return
	}
	if s.entries == nil {
		s.entries = make(map[string]json.RawMessage)
	}
	s.entries[key] = value
}

// All returns a copy of the entries.
func (s *State) All() map[string]json.RawMessage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]json.RawMessage, len(s.entries))
	maps.Copy(all, s.entries)
	return all
}

// SaveState saves v for the next round of the running request, so that earlier work need not be
// repeated. It does nothing if a request has one round only, because the client responds while the
// handler waits.
//
// The client carries the sealed state and can return it more than once until it expires (see
// [ServeOptions]). So SaveState does not ensure that something is done only once.
func SaveState(ctx context.Context, key string, v any) error {
	req := RequestFrom(ctx)
	if req == nil || req.State == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	req.State.Set("user."+key, data)
	return nil
}

// LoadState decodes into v the value that an earlier round of the running request saved under the
// key. It reports false if there is none.
func LoadState(ctx context.Context, key string, v any) (bool, error) {
	req := RequestFrom(ctx)
	if req == nil {
		return false, nil
	}
	data := req.State.Get("user." + key)
	if data == nil {
		return false, nil
	}
	return true, json.Unmarshal(data, v)
}

// Disconnect tells the transport that the client need not keep its connection open for the running
// request. A transport that can resume closes the connection now, and the client returns for the
// result. On other transports Disconnect does nothing.
func Disconnect(ctx context.Context) {
	if req := RequestFrom(ctx); req != nil {
		if d, ok := PeerAs[interface{ Disconnect() }](req.Peer); ok {
			d.Disconnect()
		}
	}
}

// PeerAs returns the first T in the chain of a Peer, the Peer that it wraps, and so on. It finds
// additional methods of a transport's Peer behind Peers of middleware. These return the wrapped
// Peer from a method Unwrap.
func PeerAs[T any](p Peer) (found T, is bool) {
	for p != nil {
		if found, is = p.(T); is {
			return found, true
		}
		w, wraps := p.(interface{ Unwrap() Peer })
		if !wraps {
			break
		}
		p = w.Unwrap()
	}
	return found, false
}

type requestKey struct{}

// A requestContext is a context that holds its request, in one allocation.
type requestContext struct {
	context.Context
	req *Request
}

func (c *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return c.req
	}
	return c.Context.Value(key)
}

// WithRequest returns a context in which the functions of this package that send to the client
// ([Progress], [Log], [Elicit], …) find the request. The [Server] calls it for every feature it
// runs.
func WithRequest(ctx context.Context, req *Request) context.Context {
	return &requestContext{ctx, req}
}

// RequestFrom returns the request of the context, or nil.
func RequestFrom(ctx context.Context) *Request {
	req, _ := ctx.Value(requestKey{}).(*Request)
	return req
}

// errNoRequest is the error if a handler uses another context than the one it was called with.
var errNoRequest = errors.New("mcp: this context belongs to no request; pass on the context that the handler was called with")

// ask sends a request to the client of the context's request.
func ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return nil, errNoRequest
	}
	return req.Peer.Ask(ctx, q)
}

// notify sends a notification to the client of the context's request.
func notify(ctx context.Context, method string, params []byte) error {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return errNoRequest
	}
	return req.Peer.Notify(ctx, method, params)
}
