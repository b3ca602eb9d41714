package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A server in the process that fails to answer what the host itself asks has failed, and is tried again at intervals.
func TestAFailedServerInTheProcessIsRetried(t *testing.T) {
	for _, method := range []string{"server/discover", "tools/list"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				var tries atomic.Int32
				broken.Store(true)
				inner := calculator().Handler
				h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == method && broken.Load() {
						tries.Add(1)
						return mcp.Result{}, errors.New("connection refused")
					}
					return inner.Handle(ctx, req)
				})
				s := play(t, Options{Servers: []Server{{Name: "calc", Handler: h, Trusted: true}}})
				defer s.Close()
				if err := s.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				if l := s.Servers()[0]; l.State != StateFailed || !strings.Contains(l.Error, "connection refused") || l.Seen != 0 {
					t.Errorf("it is %+v", l)
				}
				time.Sleep(time.Hour)
				if n := tries.Load(); n < 5 || n > 50 {
					t.Errorf("it was tried %d times in an hour", n)
				}
				broken.Store(false)
				time.Sleep(lastRetry + time.Second)
				if l := s.Servers()[0]; l.State != StateConnected || l.Error != "" || l.Seen != 2 {
					t.Errorf("then it is %+v", l)
				}
				if got := s.notices(NoticeServer); len(got) != 2 || !strings.Contains(got[0], "connection refused") || !strings.Contains(got[1], "is back, with 2 tools") {
					t.Errorf("reported %q", got)
				}
			})
		})
	}
}

func TestLostConnectionsAreFailedServers(t *testing.T) {
	for end, lose := range map[string]func(c *mcp.Client, far net.Conn){
		"here":  func(c *mcp.Client, _ net.Conn) { c.Close() },
		"there": func(_ *mcp.Client, far net.Conn) { far.Close() },
	} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				ended := make(chan struct{})
				go func() { defer close(ended); _ = stream.ServeConn(t.Context(), far, calculator().Handler) }()
				c, err := mcp.DialWith(t.Context(), stream.Over(near, "calc"), mcp.ClientOptions{Name: "calc", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				s := play(t, Options{Servers: []Server{{Name: "calc", Handler: c, Trusted: true}}})
				if err := s.Settle(t.Context()); err != nil || s.Servers()[0].Seen != 2 {
					t.Fatalf("%v: %+v", err, s.Servers()[0])
				}
				lose(c, far)
				time.Sleep(time.Minute)
				if l := s.Servers()[0]; l.State != StateFailed || l.Seen != 0 {
					t.Errorf("it is %+v", l)
				}
				s.Close()
				c.Close()
				<-ended
			})
		})
	}
}

// A call continues if a list fails meanwhile.
func TestACallOutlivesAListThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mcp.NewServer("s", "1")
		f := &flaky{Handler: srv}
		mcp.AddToolWith(srv, mcp.Tool{Name: "slow", Annotations: readOnly}, func(context.Context, struct{}) (string, error) {
			f.down.Store(true)
			mcp.AddTool(srv, "more", func(context.Context, struct{}) (string, error) { return "", nil }) // and the lists are read again
			time.Sleep(5 * time.Second)
			return "done", nil
		})
		s := play(t, Options{Servers: []Server{{Name: "s", Handler: f, Trusted: true}}}, scripted.Call("s__slow", ""), scripted.Say("well"))
		defer s.Close()
		ask(t, s.Conversation(nil), "go")
		if got := s.results(t)[0].Text(); got != "done" {
			t.Errorf("the model got %q", got)
		}
		if l := s.Servers()[0]; l.State != StateFailed {
			t.Errorf("it is %+v", l)
		}
	})
}

// What keeps a connection alive is no request of the host's.
func TestAServerInTheProcessGetsNoPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		s := play(t, Options{Servers: []Server{calculator()}, Middleware: func(string) mcp.Middleware {
			return func(next mcp.Handler) mcp.Handler {
				return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					seen.Add(1)
					return next.Handle(ctx, req)
				})
			}
		}})
		defer s.Close()
		time.Sleep(time.Minute - time.Second)
		before := seen.Load()
		time.Sleep(time.Hour)
		if n := seen.Load(); before == 0 || n != before {
			t.Errorf("it got %d requests, and in the hour after that %d", before, n-before)
		}
	})
}
