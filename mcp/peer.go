package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
)

// A Peer is the way back to whoever asked, for as long as the request runs. It
// has two verbs: Notify sends a notification, Ask a request. Both are safe for concurrent use.
type Peer interface {
	// Notify sends a notification that belongs to the request: progress, a log
	// message, or, on subscriptions/listen, a change that is listened for. params is one JSON
	// object or nil; the progress token and the subscription id are added on the
	// way. What the client did not ask for is dropped without an error, so a
	// caller need not check. The error says that the client cannot be reached.
	Notify(ctx context.Context, method string, params json.RawMessage) error

	// Ask sends a request to the client and returns its bare result. The error is
	// an [*Error] where the client did not declare that it can be asked this (see
	// [ClientCapabilities.Allow]), or answered with one. Where the
	// client responds only between two rounds of the request, and to this
	// one it has not responded yet, the error is [ErrInputRequired]: return it, and
	// the Handler runs again from the top when the response has come.
	Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error)
}

// NoPeer is the Peer of a request that a program makes for itself: notifications are dropped, and nothing can be asked. Other Peers
// that drop or refuse embed it.
type NoPeer struct{}

// Notify implements [Peer].
func (NoPeer) Notify(context.Context, string, json.RawMessage) error { return nil }

// Ask implements [Peer].
func (NoPeer) Ask(_ context.Context, q ServerRequest) (json.RawMessage, error) {
	return nil, Errorf(CodeMethodNotFound, "%s: there is nobody to ask", q.Method)
}

// A ServerRequest is a request to the client: elicitation/create,
// sampling/createMessage or roots/list (client features).
type ServerRequest struct {
	// Key names it among all that one request makes to the client. Empty means a
	// name made from the content, which is right unless a Handler asks the same
	// thing twice and wants the responses in a certain order.
	Key string
	// Method is the specification's name of the request.
	Method string
	// Params is one JSON object, or nil.
	Params json.RawMessage
}

// ErrInputRequired is what [Peer.Ask] returns, possibly wrapped, when the response
// will only come with the next round of the request (basic/patterns/mrtr).
var ErrInputRequired = errors.New("input required: return this error; the request runs again when the client has answered")

// Parallel runs functions that send requests to the client concurrently, and joins
// their errors: a client that can respond to several requests at once gets them at
// once.
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

// State is what a request carries from one round to the next, sealed on the
// wire so that the client can neither read nor change it. Safe for concurrent use.
type State struct {
	mu      sync.Mutex
	entries map[string]json.RawMessage
}

// Get returns what was put under the key, or nil.
func (s *State) Get(key string) json.RawMessage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key]
}

// Set puts a JSON value under the key; nil removes it. All of it together
// should stay small: it travels with the client. A nil State ignores it.
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

// SaveState remembers v for the next round of the running request, so that work
// done before such a request is not done twice. Where a request has one round only
// (the client answers while the handler waits) it does nothing.
//
// The client carries what was saved, sealed, and can bring it back more than
// once until it expires (see [ServeOptions]): SaveState does not make sure that
// something is done only once.
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

// LoadState finds what an earlier round of the running request saved under the
// key and decodes it into v; false if there is nothing.
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

// Disconnect says to the transport that the client need not hold its connection
// open for the running request: where the transport can resume, it is closed now
// and the client comes back for the result. Elsewhere it does nothing.
func Disconnect(ctx context.Context) {
	if req := RequestFrom(ctx); req != nil {
		if d, ok := PeerAs[interface{ Disconnect() }](req.Peer); ok {
			d.Disconnect()
		}
	}
}

// PeerAs returns the first of a Peer, the one that it wraps, and so on, that is a T: what a transport's Peer can do in addition to
// what every Peer can is found behind those that middleware puts in front of it. These return the wrapped one from a method Unwrap.
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

// A requestContext is a context that knows its request, in one allocation.
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

// WithRequest returns a context in which the functions of this package that
// speak to the client ([Progress], [Log], [Elicit], …) find the request. The
// [Server] does this for every feature it runs.
func WithRequest(ctx context.Context, req *Request) context.Context {
	return &requestContext{ctx, req}
}

// RequestFrom returns the request that the context belongs to, or nil.
func RequestFrom(ctx context.Context) *Request {
	req, _ := ctx.Value(requestKey{}).(*Request)
	return req
}

// errNoRequest is returned when a handler's context is not the one it was given.
var errNoRequest = errors.New("mcp: this context belongs to no request; pass on the context that the handler was called with")

// ask sends a request to the client of the request that ctx belongs to.
func ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return nil, errNoRequest
	}
	return req.Peer.Ask(ctx, q)
}

// notify sends a notification to the client of the request that ctx belongs to.
func notify(ctx context.Context, method string, params []byte) error {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return errNoRequest
	}
	return req.Peer.Notify(ctx, method, params)
}
