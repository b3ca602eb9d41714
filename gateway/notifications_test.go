package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A listener holds the notifications that a client got.
type listener struct {
	mu       sync.Mutex
	notified []string
	agreed   *mcp.SubscriptionFilter
}

func (l *listener) listen(ctx context.Context, c *mcp.Client, f mcp.SubscriptionFilter) error {
	return c.ListenWith(ctx, f, func(n mcp.Notification) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.notified = append(l.notified, n.Method+n.URI)
	}, func(f mcp.SubscriptionFilter) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.agreed = &f
	})

}

func (l *listener) check(t *testing.T, when string, agreed bool, want ...string) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.agreed != nil) != agreed || !slices.Equal(l.notified, want) {
		t.Errorf("%s: acknowledged %v, notified of %q, want %q", when, l.agreed, l.notified, want)
	}
}

// slowly returns a member that responds to subscriptions/listen when the test sends to listen, with
// the sent error if it is not nil.
func slowly(s *mcp.Server, listen <-chan error) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" {
			select {
			case err := <-listen:
				if err != nil {
					return mcp.Result{}, err
				}
			case <-ctx.Done():
				return mcp.Result{}, ctx.Err()
			}
		}
		return s.Handle(ctx, req)
	})
}

func TestAClientIsAcknowledgedBeforeMembersAreAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		server, listen := member(t, "slow"), make(chan error)
		must(t, g.AddHandler("slow", slowly(server, listen)))
		listen <- nil // for the gateway's own request about the lists
		must(t, g.Settle(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l, uri := &listener{}, "test://slow/text"
		go l.listen(ctx, mcp.NewClient(g), mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
		l.check(t, "before the member", true)
		server.ResourceUpdated(uri)
		listen <- nil
		l.check(t, "what changed before the member listened", true, "notifications/resources/updated"+uri)
		server.ResourceUpdated(uri)
		l.check(t, "what changes then", true, "notifications/resources/updated"+uri, "notifications/resources/updated"+uri)
	})
}

func TestAMemberThatRefusesASubscriptionIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		listen := make(chan error)
		must(t, g.AddHandler("slow", slowly(member(t, "slow"), listen)))
		listen <- nil
		must(t, g.Settle(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &listener{}
		go l.listen(ctx, mcp.NewClient(g), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://slow/text"}})
		listen <- errors.New("lost")
		time.Sleep(time.Minute)
		listen <- mcp.Errorf(mcp.CodeMethodNotFound, "no subscriptions")
		time.Sleep(time.Minute)
		select {
		case listen <- nil:
			t.Error("the member was asked again")
		default:
		}
		l.check(t, "with nothing from the member", true)
	})
}

func TestListenRefusedForListsIsSentOncePerConnection(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want int32 // counts listen requests within an hour
	}{
		{"unknown method", mcp.Errorf(mcp.CodeMethodNotFound, "Method not found"), 1},
		{"params not known", mcp.Errorf(mcp.CodeInvalidParams, "Invalid request parameters"), 1},
		{"invalid request", mcp.Errorf(mcp.CodeInvalidRequest, "Invalid request"), 1},
		{"internal error", mcp.Errorf(mcp.CodeInternalError, "busy"), 120},
		{"lost", errors.New("lost"), 120},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				server, asked, first := member(t, "one"), atomic.Int32{}, atomic.Pointer[mcp.Client]{}
				refuses := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == "subscriptions/listen" {
						asked.Add(1)
						return mcp.Result{}, tt.err
					}
					return server.Handle(ctx, req)
				})
				must(t, add(g, "one", func(ctx context.Context) (*mcp.Client, error) {
					c, err := mcp.DialWith(ctx, stream.Pipe(refuses), mcp.ClientOptions{Name: "one", Logger: quiet})
					first.CompareAndSwap(nil, c)
					return c, err
				}))
				must(t, g.Settle(t.Context()))
				time.Sleep(time.Hour - time.Second)
				if got := asked.Load(); got != tt.want {
					t.Errorf("%d listen requests in an hour, want %d", got, tt.want)
				}
				first.Load().Close()
				time.Sleep(5 * time.Second)
				if got := asked.Load(); got != tt.want+1 {
					t.Errorf("%d listen requests after a new connection, want %d", got, tt.want+1)
				}
			})
		})
	}
}

// A notified is a Peer that sends the names of notifications to a channel.
type notified chan<- string

func (n notified) Notify(_ context.Context, method string, _ json.RawMessage) error {
	n <- method
	return nil
}

func (n notified) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, errors.New("nobody is here")
}

// Lists change while members connect, which is also when clients make their handshake.
func TestAListThatChangesAfterTheHandshakeIsNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("one", member(t, "one")))
		must(t, g.Settle(t.Context()))
		result, err := g.Handle(t.Context(), mcp.NewRequest("server/discover", nil))
		must(t, err)
		must(t, g.AddHandler("two", member(t, "two")))
		must(t, g.Settle(t.Context()))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		methods := make(chan string, 10)
		req := mcp.NewRequest("subscriptions/listen", []byte(`{"notifications":{"toolsListChanged":true},"_meta":`+string(result.Meta)+`}`))
		req.Peer = notified(methods)
		go g.Handle(ctx, req)
		if got := []string{<-methods, <-methods}; !slices.Equal(got, []string{"notifications/subscriptions/acknowledged", "notifications/tools/list_changed"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestASubscriptionEndsInOrderWhenTheGatewayIsClosed(t *testing.T) {
	g, _ := open(t)
	c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Logger: quiet})
	must(t, err)
	defer c.Close()
	ended, agreed := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- c.ListenWith(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://old/text"}}, func(mcp.Notification) {}, func(mcp.SubscriptionFilter) { close(agreed) })
	}()
	<-agreed
	g.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A restless member has other tools at each reading, and notifies of that at once.
type restless struct {
	lists   atomic.Int32
	changed chan struct{}
}

func (r *restless) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "server/discover":
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)}, nil
	case "tools/list":
		n := r.lists.Add(1)
		if n < 2_000 { // else a test that fails would not end
			r.changed <- struct{}{}
		}
		return mcp.Result{JSON: fmt.Appendf(nil, `{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, n)}, nil
	}
	for {
		select {
		case <-r.changed:
			_ = req.Peer.Notify(ctx, "notifications/tools/list_changed", nil)
		case <-ctx.Done():
			return mcp.Result{}, ctx.Err()
		}
	}
}

// A member must not keep the gateway busy with its lists.
func TestListsThatChangeAllTheTimeAreReadNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &restless{changed: make(chan struct{}, 10)}
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("restless", r))
		time.Sleep(time.Minute)
		if n := r.lists.Load(); n < 10 || n > 100 {
			t.Errorf("in a minute the tools were read %d times", n)
		}
	})
}

func TestASubscriptionToAResourceThatIsOfferedLaterIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		c := client(t, g)
		defer c.Close()
		heard := make(chan string, 100)
		ctx, cancel := context.WithCancel(t.Context())
		var listening sync.WaitGroup
		listening.Go(func() {
			_ = c.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://one/text", "test://two/text"}}, func(n mcp.Notification) { heard <- n.URI })
		})
		defer listening.Wait()
		defer cancel()
		time.Sleep(time.Hour) // longer than the wait for any list
		for _, name := range []string{"one", "two"} {
			for range 2 { // the second time it comes back
				s := member(t, name)
				must(t, g.AddHandler(name, s))
				time.Sleep(time.Minute)
				for len(heard) > 0 {
					<-heard
				}
				s.ResourceUpdated("test://" + name + "/text")
				time.Sleep(time.Second)
				if len(heard) != 1 {
					t.Errorf("%d updates came of %s", len(heard), name)
				}
				must(t, g.Remove(ctx, name))
				time.Sleep(time.Minute)
			}
		}
	})
}
