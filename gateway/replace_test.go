package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A lasting server is one with long calls, several versions of which are connected one after the
// other.
type lasting struct {
	mu      sync.Mutex
	started []string      // lists the versions of all connections
	open    []*mcp.Client // the clients of all connections
	overlap bool          // is set if two versions were connected at the same time
}

// upstream returns a version of the server. Its first call of a tool takes the given time, and the
// others return at once.
func (l *lasting) upstream(version string, lasts time.Duration) gateway.Upstream {
	s := mcp.NewServerWith("s", version, mcp.ServerOptions{Logger: quiet})
	first := true
	answer := func(ctx context.Context, _ struct{}) (string, error) {
		l.mu.Lock()
		waits := first
		first = false
		l.mu.Unlock()
		if !waits {
			return version, nil
		}
		select {
		case <-time.After(lasts):
			return version, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	mcp.AddTool(s, "change", answer)
	mcp.AddToolWith(s, mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, answer)
	return gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		l.mu.Lock()
		for i, c := range l.open {
			select {
			case <-c.Done():
			default:
				l.overlap = l.overlap || l.started[i] != version
			}
		}
		l.mu.Unlock()
		c, err := mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Bridge: true, Logger: quiet})
		if err == nil {
			l.mu.Lock()
			l.started, l.open = append(l.started, version), append(l.open, c)
			l.mu.Unlock()
		}
		return c, err
	}}
}

// starts returns the number of connections so far.
func (l *lasting) starts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.started)
}

// said calls a tool, and returns a channel that gets the text of the result or the error.
func said(t *testing.T, c *mcp.Client, tool string) <-chan string {
	got := make(chan string, 1)
	go func() {
		r, err := c.CallTool(t.Context(), "s__"+tool, nil)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- r.Text()
	}()
	return got
}

// pending fails the test if a call has returned.
func pending(t *testing.T, got <-chan string) {
	t.Helper()
	synctest.Wait()
	select {
	case text := <-got:
		t.Errorf("it gave %q already", text)
	default:
	}
}

// replacing returns a gateway with a lasting server, and a client without a timeout.
func replacing(t *testing.T, log *slog.Logger, u gateway.Upstream) (*gateway.Gateway, *mcp.Client) {
	t.Helper()
	g := gateway.New(gateway.Options{Logger: log})
	t.Cleanup(func() { g.Close() })
	must(t, g.Add("s", u))
	must(t, g.Settle(t.Context()))
	return g, mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
}

func TestReplacedServersEndTheirCalls(t *testing.T) {
	for _, test := range []struct {
		name      string
		program   bool
		isolation gateway.Isolation
	}{
		{"a program that all share", true, gateway.Shared},
		{"a program of each client", true, gateway.PerClient},
		{"a server with a url", false, gateway.Shared},
		{"a server with a url, of each client", false, gateway.PerClient},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lasting{}
				version := func(v string, lasts time.Duration) gateway.Upstream {
					u := l.upstream(v, lasts)
					u.Program, u.Isolation = test.program, test.isolation
					return u
				}
				g, c := replacing(t, quiet, version("1", 20*time.Minute))
				runs := said(t, c, "change")
				time.Sleep(time.Second)
				began := time.Now()
				must(t, g.Replace("s", version("2", 0)))
				if took := time.Since(began); took != 0 {
					t.Errorf("the change took %v", took)
				}
				next := said(t, c, "change")
				time.Sleep(time.Second)
				if s := g.Status()[0]; s.Leaving != 1 || s.Tools != 2 {
					t.Errorf("meanwhile its status is %+v", s)
				}
				if !test.program {
					if text := <-next; text != "2" {
						t.Errorf("a call meanwhile gives %q", text)
					}
				} else {
					time.Sleep(40 * time.Second)
					pending(t, next)
					if s := g.Status()[0]; s.State != gateway.Waiting || s.Running != 1 {
						t.Errorf("while a call waits its status is %+v", s)
					}
					if text := <-next; !strings.Contains(text, `the configuration of server "s" changed; it restarts when 1 request with the old one is finished; try again later`) {
						t.Errorf("a call that waited gives %q", text)
					}
				}
				time.Sleep(19 * time.Minute)
				last := said(t, c, "change")
				if text := <-runs; text != "1" {
					t.Errorf("the call that ran gives %q", text)
				}
				if text := <-last; text != "2" {
					t.Errorf("a call afterwards gives %q", text)
				}
				synctest.Wait()
				if s := g.Status()[0]; s.Leaving != 0 {
					t.Errorf("afterwards its status is %+v", s)
				}
				if test.program && l.overlap {
					t.Errorf("two programs ran at once: %q", l.started)
				}
			})
		})
	}
}

// A request that is ended after an hour returns the reason, or is repeated.
func TestCallsThatAReplacedServerDoesNotFinishAreResentOrReported(t *testing.T) {
	for _, isolation := range []gateway.Isolation{gateway.Shared, gateway.PerClient} {
		for tool, want := range map[string]string{
			"change": `server "s" was restarted, because its configuration changed, while it had the request, which it may have executed`,
			"look":   "2",
		} {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l := &lasting{}
				before, after := l.upstream("1", 24*time.Hour), l.upstream("2", 0)
				before.Program, after.Program = true, true
				before.Isolation, after.Isolation = isolation, isolation
				g, c := replacing(t, slog.New(slog.NewTextHandler(&log, nil)), before)
				runs := said(t, c, tool)
				time.Sleep(time.Second)
				must(t, g.Replace("s", after))
				time.Sleep(time.Hour - time.Second)
				pending(t, runs)
				if text := <-runs; !strings.Contains(text, want) {
					t.Errorf("%s, isolation %d: it gives %q", tool, isolation, text)
				}
				must(t, g.Close())
				if !strings.Contains(log.String(), "are ended, because its configuration changed an hour ago") || l.overlap {
					t.Errorf("the log is %s; starts %q", log.String(), l.started)
				}
			})
		}
	}
}

// A request that waits for a start goes to the newest server at once, as the change may fix the
// start.
func TestARequestThatNoServerHasGoesToTheNewestOne(t *testing.T) {
	for _, isolation := range []gateway.Isolation{gateway.Shared, gateway.PerClient} {
		synctest.Test(t, func(t *testing.T) {
			starting := gateway.Upstream{Program: true, Isolation: isolation, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}}
			l := &lasting{}
			after := l.upstream("3", 0)
			after.Program, after.Isolation = true, isolation
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			must(t, g.Add("s", starting))
			waits := said(t, mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1}), "change")
			time.Sleep(30 * time.Second)
			for _, u := range []gateway.Upstream{starting, starting, after} {
				must(t, g.Replace("s", u))
				time.Sleep(time.Second)
			}
			select {
			case text := <-waits:
				if text != "3" {
					t.Errorf("it gives %q", text)
				}
			default:
				t.Error("it waits")
			}
		})
	}
}

func TestAServerThatIsReplacedTwiceEndsBeforeTheThirdStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lasting{}
		version := func(v string, lasts time.Duration) gateway.Upstream {
			u := l.upstream(v, lasts)
			u.Program = true
			return u
		}
		g, c := replacing(t, quiet, version("1", 20*time.Second))
		runs := said(t, c, "change")
		time.Sleep(time.Second)
		must(t, g.Replace("s", version("2", 0)))
		next := said(t, c, "change")
		time.Sleep(time.Second)
		must(t, g.Replace("s", version("3", 0)))
		time.Sleep(time.Second)
		if s := g.Status()[0]; s.Leaving != 1 || s.Running != 1 || s.Tools != 2 {
			t.Errorf("its status is %+v", s)
		}
		if one, three := <-runs, <-next; one != "1" || three != "3" || l.overlap {
			t.Errorf("the calls give %q and %q, of %q", one, three, l.started)
		}
	})
}

// A restart, a removal and the end of the gateway do not wait for calls that never end.
func TestReplacedServersEndTheirCallsSooner(t *testing.T) {
	for _, test := range []struct {
		name   string
		within time.Duration
		by     func(*gateway.Gateway) error
		after  string
	}{
		{"by a restart", 0, func(g *gateway.Gateway) error { return g.Restart("s") }, "2"},
		{"by a removal", 5 * time.Second, func(g *gateway.Gateway) error { return g.Remove(context.Background(), "s") }, "unknown tool"},
		{"by the gateway's end", 0, func(g *gateway.Gateway) error { return g.Close() }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lasting{}
				before, after := l.upstream("1", 24*time.Hour), l.upstream("2", 0)
				before.Program, after.Program = true, true
				g, c := replacing(t, quiet, before)
				runs := said(t, c, "change")
				time.Sleep(time.Second)
				must(t, g.Replace("s", after))
				time.Sleep(time.Minute)
				began := time.Now()
				must(t, test.by(g))
				if text := <-runs; text == "1" || text == "2" {
					t.Errorf("it gives %q", text)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("it took %v", took)
				}
				if test.after != "" {
					if text := <-said(t, c, "change"); !strings.Contains(text, test.after) {
						t.Errorf("afterwards it gives %q", text)
					}
				}
			})
		})
	}
}

// The layers around a server change while it and its requests go on.
func TestMiddlewareOfARunningServerChanges(t *testing.T) {
	for _, isolation := range []gateway.Isolation{gateway.Shared, gateway.PerClient} {
		synctest.Test(t, func(t *testing.T) {
			l := &lasting{}
			u := l.upstream("1", 20*time.Minute)
			u.Program, u.Isolation = true, isolation
			g, c := replacing(t, quiet, u)
			runs := said(t, c, "change")
			time.Sleep(time.Second)
			starts := l.starts()
			refusing := func(next mcp.Handler) mcp.Handler {
				return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == "tools/call" && req.Name == "change" {
						return mcp.Result{}, errors.New("not any more")
					}
					return next.Handle(ctx, req)
				})
			}
			must(t, g.Rearrange("s", gateway.Upstream{Prefix: "t", Names: map[string]string{"look": "see"}, Middleware: []mcp.Middleware{refusing}}))
			if all := strings.Join(names(t, g), " "); all != "see t__change" {
				t.Errorf("offered are %s", all)
			}
			if r, err := c.CallTool(t.Context(), "see", nil); err != nil || r.Text() != "1" {
				t.Errorf("under the new name: %v, %v", r, err)
			}
			if _, err := c.CallTool(t.Context(), "t__change", nil); err == nil || !strings.Contains(err.Error(), "not any more") {
				t.Errorf("through the new middleware: %v", err)
			}
			if text := <-runs; text != "1" || l.starts() != starts {
				t.Errorf("the call that ran gives %q, after %d more starts", text, l.starts()-starts)
			}
			if err := g.Rearrange("other", gateway.Upstream{}); err == nil || !strings.Contains(err.Error(), `no server "other"`) {
				t.Errorf("another one: %v", err)
			}
		})
	}
}

func TestResourcesOfAServerEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lasting{}
		before, after := l.upstream("1", time.Minute), l.upstream("2", 0)
		ended := make(chan struct{})
		before.OnEnd = func() { close(ended) }
		g, c := replacing(t, quiet, before)
		runs := said(t, c, "change")
		time.Sleep(time.Second)
		must(t, g.Replace("s", after))
		time.Sleep(30 * time.Second)
		select {
		case <-ended:
			t.Error("it ended while a call ran")
		default:
		}
		if text := <-runs; text != "1" {
			t.Errorf("the call gives %q", text)
		}
		<-ended
	})
}
