package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A watcher records the subscriptions of a server's resources.
type watcher struct {
	began chan string   // the URI of each call of OnSubscribe
	ended chan struct{} // one element for each context that is done
}

func (w *watcher) serve() mcp.Handler {
	w.began, w.ended = make(chan string, 10), make(chan struct{}, 10)
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{OnSubscribe: func(ctx context.Context, uri string) error {
		if uri == "test://refused" {
			return errors.New("not this one")
		}
		w.began <- uri
		context.AfterFunc(ctx, func() { w.ended <- struct{}{} })
		return nil
	}})
	for _, uri := range []string{"test://a", "test://refused"} {
		s.AddText(mcp.Resource{URI: uri, Name: uri}, "")
	}
	mcp.AddTool(s, "change", func(context.Context, none) (string, error) { s.ResourceUpdated("test://a"); return "", nil })
	return s
}

// listen subscribes to resources and returns when the server has acknowledged that.
func listen(t *testing.T, c *mcp.Client, uris ...string) (agreed []string, notified <-chan string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	acknowledged, updated, ended := make(chan []string, 1), make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- c.ListenWith(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: uris},
			func(n mcp.Notification) { updated <- n.URI }, func(f mcp.SubscriptionFilter) { acknowledged <- f.ResourceSubscriptions })

	}()
	select {
	case agreed = <-acknowledged:
	case err := <-ended:
		t.Fatal("not acknowledged:", err)
	}
	return agreed, updated, func() { cancel(); <-ended }
}

func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(10 * time.Second):
		t.Error("nothing came of", what)
	}
	return v
}

func TestAServerWatchesAResourceFromTheFirstSubscriberToTheLast(t *testing.T) {
	var w watcher
	run(t, w.serve, noOptions, func(t *testing.T, c *mcp.Client, _ way) {
		agreed, notified, stop := listen(t, c, "test://a", "test://refused")
		if !slices.Equal(agreed, []string{"test://a"}) {
			t.Errorf("agreed to %v, want all but what OnSubscribe refuses", agreed)
		}
		_, alsoNotified, stopToo := listen(t, c, "test://a")
		stop()
		if _, err := c.CallTool(t.Context(), "change", nil); err != nil {
			t.Error(err)
		}
		if got := receive(t, alsoNotified, "the update"); got != "test://a" {
			t.Errorf("updated %s", got)
		}
		if len(w.began) != 1 || len(w.ended) != 0 || len(notified) != 0 {
			t.Errorf("with one subscriber left: OnSubscribe called %d times, %d contexts done", len(w.began), len(w.ended))
		}
		stopToo()
		receive(t, w.ended, "the end of the last subscription")
		_, _, stop = listen(t, c, "test://a")
		stop()
		receive(t, w.ended, "the end of the next one")
		if len(w.began) != 2 {
			t.Errorf("OnSubscribe called %d times, want once more", len(w.began))
		}
	})
}

// A slow OnSubscribe belongs to all subscribers that wait for it, not to the first.
func TestTheFirstSubscriberMayLeaveBeforeItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, done int
		accept := make(chan error)
		s := mcp.NewServerWith("s", "1", mcp.ServerOptions{OnSubscribe: func(ctx context.Context, _ string) error {
			calls++
			context.AfterFunc(ctx, func() { done++ })
			select {
			case err := <-accept:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		s.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "")
		c := mcp.NewClient(s)
		begin := func() (stop func(), agreed *[]string) {
			ctx, cancel := context.WithCancel(t.Context())
			agreed = new([]string)
			go c.ListenWith(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://a"}}, func(mcp.Notification) {}, func(f mcp.SubscriptionFilter) { *agreed = f.ResourceSubscriptions })
			synctest.Wait()
			return func() { cancel(); synctest.Wait() }, agreed
		}
		stopFirst, _ := begin()
		stopSecond, second := begin()
		stopFirst()
		accept <- nil
		synctest.Wait()
		if calls != 1 || done != 0 || len(*second) != 1 {
			t.Errorf("%d calls, %d done, the second subscriber has %v", calls, done, *second)
		}
		stopSecond()
		stopOnly, _ := begin()
		stopOnly()
		if calls != 2 || done != 2 {
			t.Errorf("when all left before it returned: %d calls, %d done", calls, done)
		}
	})
}

func TestAPanicInOnSubscribeRefusesTheSubscription(t *testing.T) {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), OnSubscribe: func(context.Context, string) error { panic("oops") }})
	s.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "")
	for range 2 {
		agreed, _, stop := listen(t, mcp.NewClient(s), "test://a")
		if len(agreed) != 0 {
			t.Errorf("agreed to %v", agreed)
		}
		stop()
	}
}
