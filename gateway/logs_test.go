package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// logging is a Handler whose method log sends a log message on every listen request.
type logging struct {
	mcp.Handler
	mu    sync.Mutex
	peers []mcp.Peer
}

func (l *logging) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method != "subscriptions/listen" {
		return l.Handler.Handle(ctx, req)
	}
	l.mu.Lock()
	l.peers = append(l.peers, req.Peer)
	l.mu.Unlock()
	if err := req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", json.RawMessage(`{"notifications":{}}`)); err != nil {
		return mcp.Result{}, err
	}
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

func (l *logging) log(t *testing.T, level, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.peers {
		if err := p.Notify(t.Context(), "notifications/message", json.RawMessage(`{"level":"`+level+`","data":"`+text+`"}`)); err != nil {
			t.Error(err)
		}
	}
}

// A logPeer holds the log messages that a client got.
type logPeer struct {
	mu  sync.Mutex
	got []string
}

func (p *logPeer) Notify(_ context.Context, method string, params json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method == "notifications/message" {
		p.got = append(p.got, string(params))
	}
	return nil
}

func (p *logPeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, errors.New("it cannot be asked")
}

func (p *logPeer) check(t *testing.T, when string, want int) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.got) != want {
		t.Errorf("%s: got %d log messages, want %d: %q", when, len(p.got), want, p.got)
	}
}

func TestLogMessagesOfNoCallReachTheClientsThatListen(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		for _, oneClient := range []bool{true, false} {
			t.Run(fmt.Sprint(revision, oneClient), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &logging{Handler: member(t, "logs")}
					g := gateway.New(gateway.Options{OneClient: oneClient, Logger: quiet})
					defer g.Close()
					must(t, g.AddHandler("logs", l))
					var mu sync.Mutex
					var got []string
					c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet, LogLevel: mcp.LogWarning, OnLog: func(m mcp.LogMessage) {
						mu.Lock()
						defer mu.Unlock()
						got = append(got, string(m.Level)+" "+string(m.Data))
					}})
					must(t, err)
					defer c.Close()
					for range c.Tools(t.Context()) { // as the level of a legacy client is sent with its requests
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					go func() { _ = c.Listen(ctx, mcp.SubscriptionFilter{}, func(mcp.Notification) {}) }()
					synctest.Wait()
					l.log(t, "info", "quiet")
					l.log(t, "warning", "one")
					l.log(t, "error", "two")
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					want := []string{`warning "one"`, `error "two"`}
					if revision == "2026-07-28" {
						want = nil // a subscription of this revision has no log messages
					}
					if !slices.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			})
		}
	}
}

func TestLogMessagesAreNotForOtherUsersOrOtherParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logging{Handler: member(t, "logs")}
		g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("logs", l))
		must(t, g.AddHandler("other", member(t, "other")))
		listens := func(h mcp.Handler, subject string) *logPeer {
			p := new(logPeer)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{}}`))
			req.Meta.Capabilities, req.Peer = &mcp.ClientCapabilities{}, p
			if subject != "" {
				req.Principal = &mcp.Principal{Subject: subject}
			}
			go func() { _, _ = h.Handle(t.Context(), req) }()
			return p
		}
		uses := func(subject string) {
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"who","arguments":{}}`))
			req.Meta.Capabilities, req.Peer, req.Principal = &mcp.ClientCapabilities{}, new(logPeer), &mcp.Principal{Subject: subject}
			_, _ = g.Handle(t.Context(), req)
		}
		ann, bob := listens(g, "ann"), listens(g, "bob")
		elsewhere := listens(g.Only(gateway.Selection{Servers: []string{"other"}}), "ann")
		synctest.Wait()
		uses("ann")
		l.log(t, "info", "of ann")
		ann.check(t, "ann used it", 1)
		bob.check(t, "ann used it", 0)
		elsewhere.check(t, "of a part without the server", 0)
		uses("bob")
		l.log(t, "info", "of ann or bob")
		ann.check(t, "both used it", 1)
		bob.check(t, "both used it", 0)
	})
}

// A client that does not read uses no more memory than the limit.
func TestLogMessagesThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logging{Handler: member(t, "logs")}
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("logs", l))
		slow := &waitingPeer{release: make(chan struct{})}
		req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{}}`))
		req.Meta.Capabilities, req.Peer = &mcp.ClientCapabilities{}, slow
		go func() { _, _ = g.Handle(t.Context(), req) }()
		synctest.Wait()
		l.log(t, "info", "the one that is being sent")
		synctest.Wait()
		for range 1_000 {
			l.log(t, "info", "a")
		}
		synctest.Wait()
		close(slow.release)
		synctest.Wait()
		if n := len(slow.got); n != 257 {
			t.Errorf("got %d log messages, want 257", n)
		}
	})
}

type waitingPeer struct {
	logPeer
	release chan struct{}
}

func (p *waitingPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/message" {
		<-p.release
	}
	return p.logPeer.Notify(ctx, method, params)
}
