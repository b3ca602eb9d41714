package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
)

// A Peer sends messages to the client of a request while the request runs. Notify sends
// notifications, and Ask sends requests. Both must be safe for concurrent use.
type Peer interface {
	// Notify sends a notification that belongs to the request: progress, a log message or, for
	// subscriptions/listen, a selected change. The params are one JSON object or nil. The progress
	// token and the subscription id are added later. Notifications that the client did not request
	// are dropped without an error, so callers need not check. An error means that the client
	// cannot be reached.
	Notify(ctx context.Context, method string, params json.RawMessage) error

	// Ask sends a request to the client and returns its result. The error is an [*Error] if the
	// client did not declare the capability (see [ClientCapabilities.Allow]) or responded with an
	// error. The error is [ErrInputRequired] if the client responds only between two rounds and has
	// not responded to this request yet. The caller must return that error. The Handler runs again
	// from the top when the response has arrived.
	Ask(ctx context.Context, q ServerRequest) (json.RawMessage, error)
}

// NoPeer is the Peer of a request that a program makes for itself. It drops notifications and
// refuses requests to the client. Other Peers that do so embed it.
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
	// Key identifies the request among all requests to the client that one request makes. If it is
	// empty, a key is made from the content. Set it only if a Handler sends the same request twice
	// and needs the responses in a certain order.
	Key string
	// Method is the method of the request.
	Method string
	// Params is one JSON object, or nil.
	Params json.RawMessage
}

// ErrInputRequired is the error of [Peer.Ask], possibly wrapped, if the response comes only with
// the next round of the request (basic/patterns/mrtr).
var ErrInputRequired = errors.New("input required: return this error; the request runs again when the client has answered")

// Parallel concurrently runs functions that send requests to the client, and joins their errors. A
// client that can respond to several requests at once gets them together.
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

// A State holds the data that a request transfers from one round to the next. It is sealed while
// the client has it, so the client can neither read nor change it. It is safe for concurrent use.
type State struct {
	mu      sync.Mutex
	entries map[string]json.RawMessage
	bound   bool
}

// Bind makes the next round belong to this process, which holds something for it that is not in the
// State. Replicas that know their peers pass the round on to it.
func (s *State) Bind() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = true
}

// Bound reports whether Bind was called in this round.
func (s *State) Bound() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound
}

// Get returns the value for a key, or nil.
func (s *State) Get(key string) json.RawMessage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key]
}

// Set stores a JSON value under a key; nil removes the value. The whole State should be small, as
// the client receives and returns it. Set on a nil State does nothing.
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

// SaveForNextRound saves v for the next round of the running request, so that the handler need not
// repeat earlier work. It does nothing if the request has only one round, because its client
// responds while the handler waits.
//
// The client stores the sealed state. It can return the state more than once until the state
// expires (see [ServeOptions]). So SaveForNextRound does not ensure that an action happens only
// once.
func SaveForNextRound(ctx context.Context, key string, v any) error {
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

// LoadFromLastRound decodes the value that an earlier round of the running request saved under a
// key into v. It reports false if there is no such value.
func LoadFromLastRound(ctx context.Context, key string, v any) (bool, error) {
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

// ReleaseStream tells the transport that the client need not keep its connection open for the
// running request. A transport that can resume closes the connection now, and the client connects
// again for the result. On other transports, ReleaseStream does nothing.
func ReleaseStream(ctx context.Context) {
	if req := RequestFrom(ctx); req != nil {
		if d, ok := PeerAs[interface{ ReleaseStream() }](req.Peer); ok {
			d.ReleaseStream()
		}
	}
}

// PeerAs returns the first T in a chain of Peers: p, the Peer that p wraps, and so on. It finds
// additional methods of a transport's Peer behind Peers of middleware. A Peer of middleware must
// return the wrapped Peer from a method Unwrap.
func PeerAs[T any](p Peer) (found T, is bool) { return unwrappedAs[T](p) }

// unwrappedAs returns the first T in a chain of values: w, the value that its method Unwrap returns,
// and so on.
func unwrappedAs[T, W any](w W) (found T, is bool) {
	for any(w) != nil {
		if found, is = any(w).(T); is {
			return found, true
		}
		next, wraps := any(w).(interface{ Unwrap() W })
		if !wraps {
			break
		}
		w = next.Unwrap()
	}
	return found, false
}

type requestKey struct{}

// A requestContext is a context together with its request, in one allocation.
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

// WithRequest returns a context with a request. The functions of this package that send messages to
// the client ([Progress], [Log], [Elicit], …) use it. A [Server] calls WithRequest for each
// request.
func WithRequest(ctx context.Context, req *Request) context.Context {
	return &requestContext{ctx, req}
}

// RequestFrom returns the request of the context, or nil.
func RequestFrom(ctx context.Context) *Request {
	req, _ := ctx.Value(requestKey{}).(*Request)
	return req
}

// errNoRequest is the error if a handler does not pass on the context with which it was called.
var errNoRequest = errors.New("mcp: this context belongs to no request; pass on the context that the handler was called with")

// ask sends a request to the client of the request in ctx.
func ask(ctx context.Context, q ServerRequest) (json.RawMessage, error) {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return nil, errNoRequest
	}
	return req.Peer.Ask(ctx, q)
}

// notify sends a notification to the client of the request in ctx.
func notify(ctx context.Context, method string, params []byte) error {
	req := RequestFrom(ctx)
	if req == nil || req.Peer == nil {
		return errNoRequest
	}
	return req.Peer.Notify(ctx, method, params)
}
