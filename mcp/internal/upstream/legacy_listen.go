package upstream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
	"github.com/junction-mcp/junction/mcp/internal/turn"
)

// A listener is one running subscriptions/listen on a legacy connection.
type listener struct {
	filter    filter
	tasks     []string // ids of the tasks; see legacy_task_listen.go
	onlyTasks bool
	peer      mcp.Peer
	events    mailbox
}

// A filter is the filter of a listen request.
type filter struct {
	mcp.SubscriptionFilter
	lists []string // methods of the notifications about its lists
}

// filterOf decodes the filter of a listen request.
func filterOf(req *mcp.Request) (*filter, error) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if err := schema.DecodeLoose(orEmptyObject(req.Params), &params); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "notifications: %v", err)
	}
	return &filter{params.Notifications, params.Notifications.Lists()}, nil
}

// wants reports whether a notification passes the filter. Log messages outside of calls pass every
// filter; the edge decides which clients may get them.
func (f *filter) wants(method, uri string) bool {
	if method == notificationUpdated {
		return slices.Contains(f.ResourceSubscriptions, uri)
	}
	return method == notificationMessage || slices.Contains(f.lists, method)
}

// listen passes the session's notifications on, and subscribes to resources that have no
// subscription yet.
func (e *legacy) listen(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	ctx, stop := e.whileOpen(ctx)
	defer stop()
	wanted, err := filterOf(req)
	if err != nil {
		return mcp.Result{}, err
	}
	agreedTo := wanted.OfferedBy(&s.capabilities)
	l := &listener{filter: filter{agreedTo, agreedTo.Lists()}, peer: req.Peer, events: newMailbox()}
	if err := l.readTasks(s, req); err != nil {
		return mcp.Result{}, err
	}
	l.events.all, l.events.by = e.queued, share.Of(ctx)
	defer l.events.close()
	e.join(l)
	defer e.leave(l)
	agreed, err := e.subscribeAll(ctx, l.filter.ResourceSubscriptions)
	defer e.unsubscribeAll(agreed)
	if err != nil {
		return mcp.Result{}, err
	}
	agreedTo.ResourceSubscriptions = agreed
	w := jsonrpc.NewObject(nil)
	if err := schema.EncodeMember(&w, "notifications", agreedTo); err != nil {
		return mcp.Result{}, err
	}
	if err := req.Peer.Notify(ctx, notificationAcknowledged, l.withTasks(w.Bytes())); err != nil {
		return mcp.Result{}, err
	}
	if !task.IsForFree(ctx) { // the tasks may have changed before
		for _, id := range l.tasks {
			l.hint(id)
		}
	}
	for {
		select {
		case <-l.events.ready:
			for _, ev := range l.events.take() {
				if ev.message.Method == task.Notification {
					e.passTask(ctx, l, req, ev.message.Params)
				} else {
					pass(ctx, l.peer, ev.message)
				}
				ev.over()
			}
		case <-ctx.Done():
			return mcp.Result{}, e.failed(s, req, context.Cause(ctx))
		case <-e.Done():
			err := e.Err()
			if errors.Is(err, mcp.ErrClosed) {
				err = mcp.ErrClosed // without the name of the link
			}
			return mcp.Result{}, e.named(req, err)
		}
	}
}

// join adds a listener. The first listener gets notifications of lists that changed while there was
// none. A client may have read a list and called a tool while its stream was being opened.
func (e *legacy) join(l *listener) {
	e.mu.Lock()
	e.listeners[l] = struct{}{}
	var missed []string
	for method := range e.unheard {
		if !l.onlyTasks && l.filter.wants(method, "") {
			missed = append(missed, method)
			delete(e.unheard, method)
		}
	}
	var waiting []*serverRequest
	if e.options.OneClient && !l.onlyTasks {
		waiting, e.waiting = e.waiting, nil
	}
	e.mu.Unlock()
	for _, method := range missed {
		l.events.putOnce(event{kind: notification, message: &jsonrpc.Message{Kind: jsonrpc.Notification, Method: method}})
	}
	for _, r := range waiting {
		e.handleOutside(r)
	}
}

func (e *legacy) leave(l *listener) {
	e.mu.Lock()
	delete(e.listeners, l)
	e.mu.Unlock()
}

// notify passes a notification to all listeners that want it.
func (e *legacy) notify(s *session, m *jsonrpc.Message) {
	if m.Method == notificationCancelled {
		e.withdraw(askedKey{s, jsonrpc.ID(m.Members.Get("requestId")).Plain()})
		return
	}
	if m.Method == notificationElicitComplete {
		e.elicitComplete(m)
		return
	}
	of := "uri"
	if m.Method == notificationTaskStatus {
		of = "taskId"
	}
	uri, _ := jsonrpc.Unquote(m.Members.Get(of))
	for _, l := range e.listenersFor(m.Method) {
		switch {
		case m.Method == notificationTaskStatus:
			l.hint(uri)
		case l.onlyTasks || !l.filter.wants(m.Method, uri):
		case m.Method == notificationMessage:
			l.events.put(event{kind: notification, message: m, flight: &e.inFlight})
		default:
			l.events.putOnce(event{kind: notification, message: m, flight: &e.inFlight})
		}
	}
}

// listenersFor returns all listeners. If none of them wants the notification of a list, it records
// the change.
func (e *legacy) listenersFor(method string) []*listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	isHeard := false
	for l := range e.listeners {
		isHeard = isHeard || !l.onlyTasks && l.filter.wants(method, "")
	}
	if !isHeard && revision.Changed(method) != "" {
		e.unheard[method] = true
	}
	return slices.Collect(maps.Keys(e.listeners))
}

func (e *legacy) allListeners() []*listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.listeners))
}

// A subscription is the session's subscription to a resource. All its listeners share it.
type subscription struct {
	turn  turn.Turn // needed to change count and to send requests
	count int       // number of listen requests that use it; belongs to the holder of turn
	users int       // number of references to the entry; guarded by the era's mutex
}

// use returns the entry of a resource; the caller must release it with unuse.
func (e *legacy) use(uri string) *subscription {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := e.subscriptions[uri]
	if u == nil {
		u = new(subscription)
		e.subscriptions[uri] = u
	}
	u.users++
	return u
}

func (e *legacy) unuse(uri string, u *subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u.users--; u.users == 0 {
		delete(e.subscriptions, uri)
	}
}

// subscribeTime is the timeout of all subscriptions of one listen request.
const subscribeTime = 30 * time.Second

// subscribeAll subscribes to resources, and returns those that the server accepted in time. A
// refused resource does not affect the others.
func (e *legacy) subscribeAll(ctx context.Context, uris []string) (agreed []string, err error) {
	within, cancel := context.WithTimeout(ctx, subscribeTime)
	defer cancel()
	for _, uri := range uris {
		var refused *mcp.Error
		switch err := e.subscribe(within, uri); {
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			e.log.Debug("mcp: no response to a subscription", "server", e.options.Name, "uri", uri, "error", err)
		case errors.As(err, &refused):
			e.log.Debug("mcp: subscription refused", "server", e.options.Name, "uri", uri, "error", err)
		case err != nil:
			return agreed, err
		default:
			agreed = append(agreed, uri)
		}
	}
	return agreed, nil
}

// subscribe subscribes to a resource, unless the session has a subscription. The entry stays in use
// until unsubscribe.
func (e *legacy) subscribe(ctx context.Context, uri string) error {
	u := e.use(uri)
	err := u.turn.Acquire(ctx)
	if err == nil {
		if u.count == 0 {
			err = e.sendSubscription(ctx, methodSubscribe, uri)
		}
		if err == nil {
			u.count++
		}
		u.turn.Release()
	}
	if err != nil {
		e.unuse(uri, u)
	}
	return err
}

// unsubscribeAll ends subscriptions without waiting for the server.
func (e *legacy) unsubscribeAll(uris []string) {
	if len(uris) == 0 {
		return
	}
	e.spawn(func() {
		ctx, cancel := context.WithTimeout(e.ctx, sendTime)
		defer cancel()
		for _, uri := range uris {
			e.unsubscribe(ctx, uri)
		}
	})
}

func (e *legacy) unsubscribe(ctx context.Context, uri string) {
	u := e.use(uri)
	defer e.unuse(uri, u)
	defer e.unuse(uri, u) // the reference of subscribe
	if err := u.turn.Acquire(e.ctx); err != nil {
		return
	}
	defer u.turn.Release()
	if u.count--; u.count > 0 || e.Err() != nil {
		return
	}
	if err := e.sendSubscription(ctx, methodUnsubscribe, uri); err != nil {
		e.log.Debug("mcp: unsubscribe failed", "server", e.options.Name, "uri", uri, "error", err)
	}
}

func (e *legacy) sendSubscription(ctx context.Context, method, uri string) error {
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	_, err := e.do(ctx, e.session.Load(), method, w.Bytes())
	return err
}
