package edge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// subscribeTime is how long resources/subscribe waits for the acknowledgement of its subscription.
const subscribeTime = 10 * time.Second

// ErrListening is the error of [Session.Listen] if another Listen of the session runs.
var ErrListening = errors.New("the session has a stream for notifications already")

// A sessionStream is the stream of a running [Session.Listen]. Its notifications come from
// subscriptions/listen requests of the edge: one for the lists, one for each subscribed resource,
// and one for each running task.
type sessionStream struct {
	ctx      context.Context
	out      Sender
	requests sync.WaitGroup // for resources and tasks
	ready    chan struct{}  // closed when out accepts notifications

	// The session's lock guards these.
	begun     bool // set when out accepts notifications
	resources map[string]*subscription
	tasks     map[string]*following
}

// A subscription is one listen request for a session, and its Peer.
type subscription struct {
	session *Session
	stream  *sessionStream
	uri     string // empty for the lists
	since   string // mark; only later changes are wanted
	ctx     context.Context
	cancel  context.CancelFunc

	again   atomic.Bool // set from the loss of an acknowledged request until its repetition is acknowledged
	once    sync.Once
	settled chan struct{} // closed when the request is acknowledged, or ends without that
}

// Listen opens the session's stream for notifications. Later requests to subscribe wait for
// acknowledgements. The caller must call run, which sends the server's notifications to out until
// ctx is done. Changes since the last Listen, or since the handshake, come first.
func (s *Session) Listen(ctx context.Context, out Sender) (run func() error, err error) {
	st := &sessionStream{ctx: ctx, out: seen{out, s.line()}, ready: make(chan struct{}), resources: map[string]*subscription{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil {
		return nil, ErrListening
	}
	s.stream = st
	return func() error {
		lists := s.begin()
		lists.run()
		<-ctx.Done() // requests for resources and tasks may still run
		s.mu.Lock()
		s.stream = nil
		s.mu.Unlock()
		st.requests.Wait()
		return ctx.Err()
	}, nil
}

// begin starts to listen for updates of resources and tasks. It returns the subscription for the
// lists.
func (s *Session) begin() (lists *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream.begun = true
	close(s.stream.ready)
	for uri, mark := range s.resources {
		if l := s.stream.resources[uri]; l != nil {
			s.stream.requests.Go(l.run) // subscribed before run was called
		} else {
			s.listenFor(uri, cmp.Or(mark, s.mark))
		}
	}
	s.followAll()
	return s.newSubscription("", s.mark)
}

// errNoStream is the error if the session has no stream for notifications outside of calls.
var errNoStream = errors.New("the client has no stream open for notifications outside of calls")

// notify sends a notification that belongs to no call.
func (s *Session) notify(ctx context.Context, method string, params json.RawMessage) error {
	s.mu.Lock()
	st := s.stream
	s.mu.Unlock()
	if st == nil {
		return errNoStream
	}
	select {
	case <-st.ready:
	case <-st.ctx.Done():
		return errNoStream
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return st.out.Send(ctx, jsonrpc.AppendNotification(nil, method, params))
}

// newSubscription prepares a listen request. The caller holds the session's lock, and a stream must
// be open.
func (s *Session) newSubscription(uri, since string) *subscription {
	l := &subscription{session: s, stream: s.stream, uri: uri, since: since, settled: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(s.stream.ctx)
	return l
}

// listenFor starts to listen for updates of a resource. The caller holds the session's lock, and a
// stream must be open.
func (s *Session) listenFor(uri, since string) *subscription {
	l := s.newSubscription(uri, since)
	s.stream.resources[uri] = l
	if s.stream.begun {
		s.stream.requests.Go(l.run)
	}
	return l
}

func (l *subscription) params() json.RawMessage {
	filter := mcp.AllLists().OfferedBy(&l.session.has)
	if l.uri != "" {
		filter = mcp.SubscriptionFilter{ResourceSubscriptions: []string{l.uri}}
	}
	encoded, _ := json.Marshal(filter) // cannot fail
	w := jsonrpc.NewObject(nil)
	w.Raw("notifications", encoded)
	if since := l.known(); since != "" {
		w.Object("_meta")
		w.String(mcp.ChangesKey, since)
	}
	return w.Bytes()
}

// Notify passes a notification on in the legacy form.
func (l *subscription) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == notifyAcknowledged {
		if l.acknowledged(params); l.again.Swap(false) && l.known() == "" {
			return l.missed(ctx)
		}
		return nil
	}
	if !l.wants(method, params) {
		return nil
	}
	if err := l.stream.out.Send(ctx, jsonrpc.AppendNotification(nil, method, withoutMeta(params))); err != nil {
		return err
	}
	l.mark(params)
	return nil
}

// wants reports whether a notification belongs to this subscription. A notification about no
// resource belongs to the subscription for the lists, so that it is sent only once.
func (l *subscription) wants(method string, params json.RawMessage) bool {
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case l.uri != "":
		return method == notifyUpdated && l.stream.resources[l.uri] == l
	case method == notifyMessage:
		return severe(params, s.level)
	}
	return method != notifyProgress && method != notifyUpdated
}

// acknowledged marks the subscription as acknowledged, or ends it if the server refused it.
func (l *subscription) acknowledged(params json.RawMessage) {
	if l.uri != "" && !agreed(params, l.uri) {
		l.refused()
		l.cancel()
		return
	}
	l.mark(params)
	l.settle()
}

func (l *subscription) settle() { l.once.Do(func() { close(l.settled) }) }

// mark stores the mark of a notification, if it has one, as the mark sent last.
func (l *subscription) mark(params json.RawMessage) {
	mark, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(params, "_meta"), mcp.ChangesKey))
	if mark == "" {
		return
	}
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.uri == "" {
		s.mark = mark
	} else if l.stream.resources[l.uri] == l {
		s.resources[l.uri] = mark
	}
}

// refused removes a subscription that the server refused.
func (l *subscription) refused() {
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.stream.resources[l.uri] == l {
		delete(l.stream.resources, l.uri)
		s.dropResource(l.uri)
	}
}

// agreed reports whether an acknowledgement contains the resource.
func agreed(acknowledged json.RawMessage, uri string) (found bool) {
	uris := jsonrpc.Get(jsonrpc.Get(acknowledged, "notifications"), "resourceSubscriptions")
	jsonrpc.EachElement(uris, func(element []byte) bool {
		agreed, _ := jsonrpc.Unquote(element)
		found = agreed == uri
		return !found
	})
	return found
}

// Ask sends the client a request on the session's stream. It is used for requests that belong to no
// request of the client. For example, a server behind a proxy requests the roots when it starts.
func (l *subscription) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if err := l.session.meta.Capabilities.Allow(q); err != nil {
		return nil, err
	}
	return l.session.requests.ask(ctx, l.session, l, l.stream.out.Send, q)
}

// withoutMeta returns the params of a notification without _meta, or nil if they have no other
// member.
func withoutMeta(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	w := jsonrpc.NewObject(nil)
	w.Members(params, "_meta")
	if out := w.Bytes(); len(out) > len("{}") {
		return out
	}
	return nil
}

// subscribe handles resources/subscribe. If a stream is open, it waits until the server has
// acknowledged the subscription.
func (s *Session) subscribe(ctx context.Context, m *jsonrpc.Message) *jsonrpc.Error {
	uri, fault := s.subscribable(m)
	if fault != nil {
		return fault
	}
	l, fault := s.addResource(uri)
	if fault != nil || l == nil {
		return fault
	}
	ctx, cancel := context.WithTimeout(ctx, subscribeTime)
	defer cancel()
	select {
	case <-l.settled:
	case <-ctx.Done():
	}
	if !s.subscribed(uri) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: the server does not notify of changes of %.200q", uri)
	}
	return nil
}

// subscribable returns the URI of a request to subscribe or unsubscribe.
func (s *Session) subscribable(m *jsonrpc.Message) (uri string, fault *jsonrpc.Error) {
	uri, ok := jsonrpc.Unquote(m.Members.Get("uri"))
	if !ok || uri == "" {
		return "", jsonrpc.Errorf(jsonrpc.InvalidParams, "uri: expected a string, got %.40s", m.Members.Get("uri"))
	}
	if s.has.Resources == nil || !s.has.Resources.Subscribe {
		return "", jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server does not notify of changes of resources", m.Method)
	}
	return uri, nil
}

// addResource adds a subscription. It returns the listen request for it, or nil if no stream is
// open.
func (s *Session) addResource(uri string) (*subscription, *jsonrpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, subscribed := s.resources[uri]; subscribed {
		if s.stream != nil {
			return s.stream.resources[uri], nil
		}
		return nil, nil
	}
	if fault := s.admitResource(uri); fault != nil {
		return nil, fault
	}
	if s.resources == nil {
		s.resources = map[string]string{}
	}
	s.resources[uri] = ""
	if s.stream == nil {
		return nil, nil
	}
	return s.listenFor(uri, ""), nil
}

func (s *Session) subscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, subscribed := s.resources[uri]
	return subscribed
}
