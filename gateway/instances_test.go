package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// counting returns a server that counts the calls of its connection.
func counting() *mcp.Server {
	s := mcp.NewServerWith("counting", "1", mcp.ServerOptions{Logger: quiet})
	var n atomic.Int64
	mcp.AddTool(s, "next", func(context.Context, struct{}) (int, error) { return int(n.Add(1)), nil })
	return s
}

// starts counts the instances that were started, and those that run.
type starts struct{ all, now atomic.Int64 }

func (s *starts) dial(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
	s.all.Add(1)
	c, err := mcp.Dial(ctx, stream.Pipe(counting()))
	if err == nil {
		s.now.Add(1)
		go func() {
			<-c.Done()
			s.now.Add(-1)
		}()
	}
	return c, err
}

// client returns a client of a gateway with a connection of its own.
func client(t *testing.T, g *gateway.Gateway) *mcp.Client {
	t.Helper()
	c, err := mcp.Dial(t.Context(), stream.Pipe(g))
	must(t, err)
	return c
}

func next(t *testing.T, c *mcp.Client) int {
	t.Helper()
	n, err := mcp.Call[int](t.Context(), c, "counting__next", nil)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestClientsHaveSeparateState(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	var started starts
	must(t, g.Add("counting", gateway.Upstream{Dial: started.dial, Isolation: gateway.PerClient}))
	must(t, g.Settle(t.Context()))
	if got := names(t, g); len(got) != 1 {
		t.Fatalf("offered are %q", got)
	}
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			c := client(t, g)
			defer c.Close()
			for want := 1; want <= 20; want++ {
				if got := next(t, c); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			}
		})
	}
	clients.Wait()
	if got := started.all.Load(); got != 11 { // one of them reads the lists
		t.Errorf("started were %d", got)
	}
	eventually(t, func() bool { // reading the lists may take a moment longer than the first responses
		s := g.Status()[0]
		return s.Instances == 10 && s.State == gateway.Connected && s.Err == nil
	})
	must(t, g.Remove(t.Context(), "counting"))
	if got := started.now.Load(); got > 0 {
		eventually(t, func() bool { return started.now.Load() == 0 })
	}
}

// eventually waits until is reports true, for at most ten seconds.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

func TestEachUserHasTheStateOfTheirOwn(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	var started starts
	must(t, g.Add("counting", gateway.Upstream{Dial: started.dial, Isolation: gateway.PerUser}))
	must(t, g.Settle(t.Context()))
	call := func(p *mcp.Principal, caller any) string {
		req := mcp.NewRequest("tools/call", []byte(`{"name":"counting__next"}`))
		req.Principal, req.Caller = p, caller
		result, err := g.Handle(t.Context(), req)
		must(t, err)
		body, err := result.Encoded()
		must(t, err)
		return string(body)
	}
	ann, ben := &mcp.Principal{Subject: "ann", Issuer: "i"}, &mcp.Principal{Subject: "ben", Issuer: "i"}
	other := &mcp.Principal{Subject: "ann", Issuer: "another"}
	for i, test := range []struct {
		who    *mcp.Principal
		caller any
		want   string
	}{{ann, 1, `1`}, {ann, 2, `2`}, {ben, 1, `1`}, {other, 1, `1`}, {nil, 1, `1`}, {nil, 2, `2`}, {ann, 3, `3`}} {
		if got := call(test.who, test.caller); !strings.Contains(got, `"text":"`+test.want+`"`) {
			t.Errorf("%d: got %s, want %s", i, got, test.want)
		}
	}
	if s := g.Status()[0]; s.Instances != 4 || s.MaxInstances != 16 || !slices.Equal(s.Users, []string{"ann", "ben"}) {
		t.Errorf("status says that %d of %d run for %q", s.Instances, s.MaxInstances, s.Users)
	}
}

func TestInstancesAreBoundedAndEndUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		var started starts
		must(t, g.Add("counting", gateway.Upstream{Dial: started.dial, Isolation: gateway.PerClient, MaxInstances: 2, IdleTime: time.Minute}))
		must(t, g.Settle(t.Context()))
		synctest.Wait()
		if got := started.now.Load(); got != 0 {
			t.Errorf("%d run before anybody calls", got)
		}
		var clients []*mcp.Client
		for range 3 {
			clients = append(clients, client(t, g))
			defer clients[len(clients)-1].Close()
		}
		for i, c := range clients {
			if got := next(t, c); got != 1 {
				t.Errorf("client %d got %d", i, got)
			}
			time.Sleep(time.Second)
		}
		if got := started.now.Load(); got != 2 {
			t.Errorf("%d run, want 2", got)
		}
		if got := next(t, clients[1]); got != 2 { // the first client's instance made room
			t.Errorf("got %d", got)
		}
		time.Sleep(59 * time.Second)
		if got := next(t, clients[1]); got != 3 {
			t.Errorf("got %d", got)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := started.now.Load(); got != 1 {
			t.Errorf("%d run, want the one that is used", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, s := started.now.Load(), g.Status()[0]; got != 0 || s.Instances != 0 || s.State != gateway.Idle {
			t.Errorf("%d run, the status is %+v", got, s)
		}
		if got := next(t, clients[1]); got != 1 {
			t.Errorf("got %d", got)
		}
	})
}

// A running instance ends by the new idle time.
func TestTheIdleTimeOfAnInstanceIsRearranged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		var started starts
		must(t, g.Add("counting", gateway.Upstream{Dial: started.dial, Isolation: gateway.PerClient, IdleTime: time.Hour}))
		c := client(t, g)
		defer c.Close()
		next(t, c)
		time.Sleep(time.Second)
		must(t, g.Rearrange("counting", gateway.Upstream{IdleTime: time.Minute}))
		time.Sleep(58 * time.Second)
		synctest.Wait()
		if got := started.now.Load(); got != 1 {
			t.Errorf("%d run before the time is over", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := started.now.Load(); got != 0 {
			t.Errorf("%d run", got)
		}
	})
}

func TestAnInstanceThatIsInUseMakesNoRoomForAnother(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	entered, hold := make(chan struct{}, 1), make(chan struct{})
	must(t, g.Add("s", gateway.Upstream{Isolation: gateway.PerClient, MaxInstances: 1, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: quiet})
		mcp.AddTool(s, "held", func(ctx context.Context, _ struct{}) (string, error) {
			entered <- struct{}{}
			<-hold
			return "done", nil
		})
		return mcp.Dial(ctx, stream.Pipe(s))
	}}))
	must(t, g.Settle(t.Context()))
	a, b := client(t, g), client(t, g)
	defer a.Close()
	defer b.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := mcp.Call[string](t.Context(), a, "s__held", nil)
		ended <- err
	}()
	<-entered
	if _, err := mcp.Call[string](t.Context(), b, "s__held", nil); err == nil || !strings.Contains(err.Error(), "in use by others") {
		t.Errorf("the error is %v", err)
	}
	close(hold)
	must(t, <-ended)
	if _, err := mcp.Call[string](t.Context(), b, "s__held", nil); err != nil {
		t.Error(err)
	}
}

func TestAnInstanceThatCannotBeStartedFailsForItsClientOnly(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	var n atomic.Int64
	must(t, g.Add("counting", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		if n.Add(1) == 3 {
			return nil, fmt.Errorf("no room for it")
		}
		return mcp.Dial(ctx, stream.Pipe(counting()))
	}}))
	must(t, g.Settle(t.Context()))
	a, b := client(t, g), client(t, g)
	defer a.Close()
	defer b.Close()
	if got := next(t, a); got != 1 {
		t.Errorf("got %d", got)
	}
	if _, err := mcp.Call[int](t.Context(), b, "counting__next", nil); err == nil || !strings.Contains(err.Error(), "no room for it") {
		t.Errorf("the error is %v", err)
	}
	if got := next(t, a); got != 2 {
		t.Errorf("got %d", got)
	}
	eventually(t, func() bool { _, err := mcp.Call[int](t.Context(), b, "counting__next", nil); return err == nil })
}

type callerKey struct{}

// Whose returns the connection of a request. One principal may have several, and the start of a
// connection gets the value. A connection of no user reads the lists.
func TestConnectionsAreKeyedByUser(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	var mu sync.Mutex
	dialed := map[any]int{}
	must(t, g.Add("counting", gateway.Upstream{
		Isolation: gateway.PerUser,
		Whose: func(ctx context.Context, req *mcp.Request) (any, error) {
			if who := ctx.Value(callerKey{}); who != nil {
				return who, nil
			}
			return nil, fmt.Errorf("%s: nobody asks", req.Method)
		},
		Dial: func(ctx context.Context, s *gateway.Start) (*mcp.Client, error) {
			mu.Lock()
			dialed[s.Whose()]++
			mu.Unlock()
			server := mcp.NewServerWith("counting", "1", mcp.ServerOptions{Logger: quiet})
			mcp.AddTool(server, "whose", func(context.Context, struct{}) (string, error) { return fmt.Sprint(s.Whose()), nil })
			return mcp.Dial(ctx, stream.Pipe(server))
		},
	}))
	must(t, g.Settle(t.Context()))
	call := func(ctx context.Context) (string, error) {
		c := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			req.Principal = &mcp.Principal{Subject: "one and the same"}
			return g.Handle(ctx, req)
		}), mcp.ClientOptions{Logger: quiet})
		return mcp.Call[string](ctx, c, "counting__whose", nil)
	}
	var calls sync.WaitGroup
	for range 10 {
		for _, who := range []string{"ada", "ben"} {
			calls.Go(func() {
				if got, err := call(context.WithValue(t.Context(), callerKey{}, who)); got != who || err != nil {
					t.Errorf("%s got the connection of %q: %v", who, got, err)
				}
			})
		}
	}
	calls.Wait()
	if _, err := call(t.Context()); err == nil || !strings.Contains(err.Error(), `server "counting" is not connected: tools/call: nobody asks`) {
		t.Errorf("nobody: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := (map[any]int{nil: 1, "ada": 1, "ben": 1}); fmt.Sprint(dialed) != fmt.Sprint(want) {
		t.Errorf("connected for %v, want %v", dialed, want)
	}
}

func TestListsChangedWithoutClientsAreReread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := counting()
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.Add("counting", gateway.Upstream{Isolation: gateway.PerClient, IdleTime: time.Minute, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			return mcp.Dial(ctx, stream.Pipe(s))
		}}))
		must(t, g.Settle(t.Context()))
		c := client(t, g)
		defer c.Close()
		next(t, c)
		time.Sleep(10 * time.Minute)
		mcp.AddTool(s, "new", func(context.Context, struct{}) (string, error) { return "", nil })
		next(t, c)
		time.Sleep(time.Minute)
		if got, want := names(t, g), []string{"counting__new", "counting__next"}; !slices.Equal(got, want) {
			t.Errorf("a minute after a client came back the gateway offers %q, and the server has %q", got, want)
		}
	})
}

func TestListsThatAreEachUsersOwnAreReadAgainSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int64
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.Add("counting", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			s := counting()
			mcp.AddTool(s, fmt.Sprintf("own%d", starts.Add(1)), func(context.Context, struct{}) (string, error) { return "", nil })
			return mcp.Dial(ctx, stream.Pipe(s))
		}}))
		must(t, g.Settle(t.Context()))
		for range 10 {
			c := client(t, g)
			defer c.Close()
			next(t, c)
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		if n := starts.Load(); n > 13 {
			t.Errorf("for ten clients %d connections were made", n)
		}
	})
}
