package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

const (
	notificationAcknowledged = "notifications/subscriptions/acknowledged"
	notificationUpdated      = "notifications/resources/updated"
)

// An outside is a notification or request that the server sent outside of calls. It is replayed
// when everything that was recorded before it has been replayed.
type outside struct {
	step
	after *call // the call whose beginning or end precedes it; nil if it precedes all calls
	ended bool  // whether it follows the end of that call instead of the beginning
	sent  bool  // guarded by Replay.mu
}

// outsideOf returns the messages that one client's subscriptions received. Other clients received
// the same messages.
func outsideOf(listens, calls []*call) []*outside {
	var all []*outside
	for _, c := range listens {
		if c.caller != listens[0].caller {
			continue
		}
		for _, s := range c.steps {
			if s.kind == eventNotification && s.method != notificationAcknowledged && !s.lost || s.kind == eventServerRequest {
				all = append(all, &outside{step: s})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *outside) int { return cmp.Compare(a.line, b.line) })
	// marks holds the beginnings and ends of calls, in the order of their lines.
	var marks []*outside
	for _, c := range calls {
		marks = append(marks, &outside{after: c, step: step{line: c.line, at: c.at}})
		if last := c.end(); last != nil {
			marks = append(marks, &outside{after: c, ended: true, step: step{line: c.lastLine, at: last.at}})
		}
	}
	slices.SortFunc(marks, func(a, b *outside) int { return cmp.Compare(a.line, b.line) })
	next := 0
	for _, n := range all {
		for next < len(marks) && marks[next].line < n.line {
			next++
		}
		if n.pause = 0; next > 0 {
			before := marks[next-1]
			n.after, n.ended, n.pause = before.after, before.ended, max(0, n.at-before.at)
		}
	}
	return all
}

// A subscriber is a client with a subscription.
type subscriber struct {
	filter mcp.SubscriptionFilter
	had    map[*outside]bool // messages sent to it, or sent before it subscribed
	first  int               // index of the first message not yet sent; avoids scanning sent messages
}

// newSubscriber returns a subscriber with a filter. It does not get messages that were already sent
// to another subscriber.
func (p *Replay) newSubscriber(filter mcp.SubscriptionFilter) *subscriber {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &subscriber{filter: filter, had: map[*outside]bool{}}
	for _, n := range p.outside {
		if n.sent {
			l.had[n] = true
		}
	}
	return l
}

// due returns the first message that a subscriber has not received, or nil. changed is closed when
// there may be another one. A request of the server is sent to one subscriber only.
func (p *Replay) due(l *subscriber) (n *outside, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := l.first; i < len(p.outside); i++ {
		n := p.outside[i]
		switch {
		case l.had[n] || !n.isFor(&l.filter) || n.sent && n.kind == eventServerRequest:
			if i == l.first {
				l.first++
			}
		case n.after == nil || n.ended && p.ended[n.after] || !n.ended && p.begun[n.after]:
			n.sent, l.had[n] = true, true
			return n, nil
		}
	}
	return nil, p.changed
}

// isFor reports whether a client with the filter gets the message.
func (n *outside) isFor(f *mcp.SubscriptionFilter) bool {
	if n.method == notificationUpdated {
		uri, _ := jsonrpc.Unquote(jsonrpc.Get(n.params, "uri"))
		return slices.Contains(f.ResourceSubscriptions, uri)
	}
	lists := f.Lists()
	if revision.Changed(n.method) != "" {
		return slices.Contains(lists, n.method)
	}
	return len(lists) > 0 || len(f.ResourceSubscriptions) == 0 // log messages and requests
}

// listen sends the server's messages outside of calls to a client until the client ends its
// subscription.
func (p *Replay) listen(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	var wanted mcp.SubscriptionFilter
	if raw := jsonrpc.Get(req.Params, "notifications"); raw != nil {
		if err := schema.DecodeLoose(raw, &wanted); err != nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "notifications: %v", err)
		}
	}
	filter := wanted.OfferedBy(&p.capabilities)
	w := jsonrpc.NewObject(nil)
	if err := schema.EncodeMember(&w, "notifications", filter); err != nil {
		return mcp.Result{}, err
	}
	if err := req.Peer.Notify(ctx, notificationAcknowledged, w.Bytes()); err != nil {
		return mcp.Result{}, err
	}
	for l := p.newSubscriber(filter); ; {
		n, changed := p.due(l)
		if n == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return mcp.Result{}, context.Cause(ctx)
			}
		}
		if err := p.sleep(ctx, n.pause); err != nil {
			return mcp.Result{}, err
		}
		if n.kind == eventNotification {
			if err := req.Peer.Notify(ctx, n.method, n.params); err != nil {
				return mcp.Result{}, err
			}
			continue
		}
		for _, a := range n.asks {
			// The client's response is ignored, because the recorded server continues in any case.
			_, _ = req.Peer.Ask(ctx, mcp.ServerRequest{Key: a.key, Method: a.method, Params: a.params})
		}
	}
}
