package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A program is a server that takes a while to start.
type program struct {
	t      *testing.T
	name   string
	server *mcp.Server
	takes  time.Duration
	dials  atomic.Int32
	fails  atomic.Pointer[error]
	last   atomic.Pointer[mcp.Client]
}

func newProgram(t *testing.T, name string, takes time.Duration) *program {
	return &program{t: t, name: name, server: member(t, name), takes: takes}
}

func (p *program) dial(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
	p.dials.Add(1)
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := p.fails.Load(); err != nil {
		return nil, *err
	}
	c, err := mcp.DialWith(ctx, stream.Pipe(p.server), mcp.ClientOptions{Name: p.name, Bridge: true, Logger: quiet})
	p.last.Store(c)
	return c, err
}

func (p *program) fail(err error) { p.fails.Store(&err) }

// memory returns a store for the definitions of the programs of one test.
func memory(t *testing.T) *definitions.Store {
	t.Helper()
	s, err := definitions.Open(t.TempDir())
	must(t, err)
	return s
}

func (p *program) join(g *gateway.Gateway, s *definitions.Store) {
	p.t.Helper()
	u := gateway.Upstream{Dial: p.dial, Program: true}
	if s != nil {
		u.Memory = s.Entry(definitions.Origin{Command: p.name})
	}
	must(p.t, g.Add(p.name, u))
}

// learned makes a gateway read the lists of the programs, and closes it.
func learned(t *testing.T, s *definitions.Store, programs ...*program) {
	t.Helper()
	g := gateway.New(gateway.Options{Logger: quiet, FirstList: time.Hour})
	for _, p := range programs {
		p.join(g, s)
	}
	must(t, g.Settle(t.Context()))
	must(t, g.Close())
	for _, p := range programs {
		p.dials.Store(0)
	}
}

func toolNames(t *testing.T, g *gateway.Gateway) (names []string) {
	t.Helper()
	for tool, err := range mcp.NewClientWith(g, mcp.ClientOptions{NoCache: true}).Tools(t.Context()) {
		must(t, err)
		names = append(names, tool.Name)
	}
	return names
}

func callTool(ctx context.Context, g *gateway.Gateway, name string) (string, error) {
	return mcp.Call[string](ctx, mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1}), name, nil)
}

func TestRememberedDefinitionsAreOfferedWithoutAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		a, b := newProgram(t, "a", time.Minute), newProgram(t, "b", time.Minute)
		learned(t, store, a, b)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		b.join(g, store)
		began := time.Now()
		if got, want := fmt.Sprint(toolNames(t, g)), "[a__ask a__who b__ask b__who]"; got != want {
			t.Errorf("tools are %s, want %s", got, want)
		}
		c := mcp.NewClient(g)
		if !strings.Contains(c.Instructions(), "I am a") || !strings.Contains(c.Instructions(), "I am b") {
			t.Errorf("instructions are %q", c.Instructions())
		}
		time.Sleep(0)
		if took := time.Since(began); took != 0 {
			t.Errorf("that took %v", took)
		}
		s := g.Status()[0]
		if s.State != gateway.Idle || !s.Known || s.Tools != 2 || s.Resources != 1 || s.Templates != 1 || s.Prompts != 1 || s.Server == nil || s.Server.Name != "a" {
			t.Errorf("its status is %+v", s)
		}
		time.Sleep(time.Hour)
		if a.dials.Load()+b.dials.Load() != 0 {
			t.Error("a server was started")
		}
		if who, err := callTool(t.Context(), g, "b__who"); who != "b" || err != nil {
			t.Errorf("the call: %q, %v", who, err)
		}
		if a.dials.Load() != 0 || b.dials.Load() != 1 {
			t.Errorf("a was started %d times, b %d times", a.dials.Load(), b.dials.Load())
		}
	})
}

func TestEveryUseOfAnIdleServerStartsIt(t *testing.T) {
	for what, use := range map[string]func(ctx context.Context, c *mcp.Client) error{
		"a call": func(ctx context.Context, c *mcp.Client) error { _, err := c.CallTool(ctx, "a__who", nil); return err },
		"a resource": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.ReadResource(ctx, "test://a/text")
			return err
		},
		"one of its template": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.ReadResource(ctx, "test://a/item/7")
			return err
		},
		"a prompt": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.GetPrompt(ctx, "a__greet", nil)
			return err
		},
		"a completion": func(ctx context.Context, c *mcp.Client) error {
			_, err := c.Complete(ctx, mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: "a__greet"}, Argument: mcp.CompletionArgument{Name: "name"}})
			return err
		},
		"a subscription": func(ctx context.Context, c *mcp.Client) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_ = c.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://a/text"}}, func(mcp.Notification) {})
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, a, b := memory(t), newProgram(t, "a", 5*time.Second), newProgram(t, "b", 5*time.Second)
				learned(t, store, a, b)
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				a.join(g, store)
				b.join(g, store)
				if err := use(t.Context(), mcp.NewClient(g)); err != nil {
					t.Error(err)
				}
				if a.dials.Load() != 1 || b.dials.Load() != 0 {
					t.Errorf("a was started %d times, b %d times", a.dials.Load(), b.dials.Load())
				}
			})
		})
	}
}

func TestAnEagerServerIsStartedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", time.Second)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.Add("a", gateway.Upstream{Dial: a.dial, Program: true, Eager: true, Memory: store.Entry(definitions.Origin{Command: "a"})}))
		if got := toolNames(t, g); len(got) != 2 {
			t.Errorf("before it is connected its tools are %v", got)
		}
		time.Sleep(2 * time.Second)
		if s := g.Status()[0]; s.State != gateway.Connected || a.dials.Load() != 1 {
			t.Errorf("it is %v after %d starts", s.State, a.dials.Load())
		}
	})
}

func TestServersThatDifferFromMemoryAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a, b := memory(t), newProgram(t, "a", time.Second), newProgram(t, "b", time.Second)
		learned(t, store, a, b)
		mcp.AddTool(a.server, "late", func(context.Context, struct{}) (string, error) { return "", nil })
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		b.join(g, store)
		var mu sync.Mutex
		var heard []string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go mcp.NewClient(g).Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}, func(n mcp.Notification) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, n.Method)
		})
		synctest.Wait()
		for _, name := range []string{"a__who", "b__who"} {
			if _, err := callTool(t.Context(), g, name); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		mu.Lock()
		if got := fmt.Sprint(heard); got != "[notifications/tools/list_changed]" {
			t.Errorf("clients were notified of %s", got)
		}
		mu.Unlock()
		if got := toolNames(t, g); !slices.Contains(got, "a__late") {
			t.Errorf("tools are %v", got)
		}
		if d := store.Entry(definitions.Origin{Command: "a"}).Load(); d == nil || len(d.Tools) != 3 {
			t.Errorf("remembered is %+v", d)
		}
		mcp.AddTool(a.server, "later", func(context.Context, struct{}) (string, error) { return "", nil })
		synctest.Wait()
		if d := store.Entry(definitions.Origin{Command: "a"}).Load(); d == nil || len(d.Tools) != 4 {
			t.Errorf("after a change while it runs, remembered is %+v", d)
		}
	})
}

func TestStatusSaysWhenDefinitionsWereRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		a := newProgram(t, "a", time.Minute)
		learned(t, store, a)
		read := time.Now().Truncate(time.Second)
		time.Sleep(50 * time.Hour)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		if s := g.Status()[0]; s.State != gateway.Idle || read.Sub(s.Read).Abs() > time.Second {
			t.Errorf("%v, read at %v, want %v", s.State, s.Read, read)
		}
		if _, err := callTool(t.Context(), g, "a__who"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d := store.Entry(definitions.Origin{Command: "a"}).Load()
		if got := g.Status()[0].Read; time.Since(got) > time.Second || time.Since(d.Read) > 2*time.Second {
			t.Errorf("after a connection it was read at %v, and remembered is %v; now is %v", got, d.Read, time.Now())
		}
	})
}

func TestOnlySomeProgramsStartAtATimeAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet, MaxStarts: 2})
		defer g.Close()
		var now, most atomic.Int32
		for i := range 10 {
			p := newProgram(t, fmt.Sprint("p", i), time.Minute)
			must(t, g.Add(p.name, gateway.Upstream{Program: true, Dial: func(ctx context.Context, s *gateway.Start) (*mcp.Client, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				return p.dial(ctx, s)
			}}))
		}
		far := newProgram(t, "far", time.Minute)
		must(t, g.Add("far", gateway.Upstream{Dial: far.dial}))
		synctest.Wait()
		states := map[gateway.State]int{}
		for _, s := range g.Status() {
			states[s.State]++
		}
		if states[gateway.Connecting] != 3 || states[gateway.Waiting] != 8 {
			t.Errorf("2 programs and one URL should be connecting: %v", states)
		}
		time.Sleep(5*time.Minute + time.Second)
		for _, s := range g.Status() {
			if s.State != gateway.Connected {
				t.Errorf("%s is %v", s.Name, s.State)
			}
		}
		if most.Load() != 2 {
			t.Errorf("%d started at a time", most.Load())
		}
	})
}

func TestAServerThatARequestWaitsForStartsBeforeTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet, MaxStarts: 1})
		defer g.Close()
		for i := range 10 {
			newProgram(t, fmt.Sprint("p", i), time.Minute).join(g, nil)
		}
		synctest.Wait()
		began := time.Now()
		if who, err := callTool(t.Context(), g, "p9__who"); who != "p9" || err != nil {
			t.Errorf("%q, %v", who, err)
		}
		if took := time.Since(began); took > 2*time.Minute+time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

func TestAStartThatOnlyWaitsLetsOthersStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet, MaxStarts: 1})
		defer g.Close()
		must(t, g.Add("asleep", gateway.Upstream{Program: true, Dial: func(ctx context.Context, s *gateway.Start) (*mcp.Client, error) {
			s.Note("is asleep")
			s.Yield()
			s.Yield()
			<-ctx.Done()
			return nil, ctx.Err()
		}}))
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			newProgram(t, name, time.Second).join(g, nil)
			synctest.Wait()
		}
		if s := g.Status(); s[0].Note != "is asleep" || s[1].State != gateway.Connecting || s[2].State != gateway.Waiting {
			t.Errorf("status is %+v", s)
		}
	})
}

func TestACallToAServerThatStartsGetsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", 10500*time.Millisecond)
		mcp.AddTool(a.server, "work", func(ctx context.Context, _ struct{}) (string, error) {
			return "done", mcp.Progress(ctx, 0.5, 1, "half")
		})
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		for _, revision := range []string{"2026-07-28", "2025-06-18"} {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet, Timeout: 3 * time.Second})
			must(t, err)
			var said []string
			ctx := mcp.WatchProgress(t.Context(), func(p mcp.ProgressUpdate) { said = append(said, p.Message) })
			if done, err := mcp.Call[string](ctx, c, "a__work", nil); done != "done" || err != nil {
				t.Errorf("%s: %q, %v", revision, done, err)
			}
			if len(said) != 11 || said[0] != "starting a" || said[10] != "half" {
				t.Errorf("%s: it heard %q", revision, said)
			}
			c.Close()
			a.last.Load().Close()
			time.Sleep(time.Minute)
		}
	})
}

func TestAServerThatEndedWhileIdleIsStartedAgainByTheNextCallAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", time.Second)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		for n := int32(1); n <= 5; n++ {
			began := time.Now()
			if _, err := callTool(t.Context(), g, "a__who"); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != time.Second || a.dials.Load() != n {
				t.Errorf("call %d took %v after %d starts", n, took, a.dials.Load())
			}
			time.Sleep(time.Minute)
			a.last.Load().Close()
			synctest.Wait()
			if s := g.Status()[0]; s.State != gateway.Idle || s.Err == nil || s.Tools != 2 {
				t.Errorf("after its end: %+v", s)
			}
			if got := toolNames(t, g); len(got) != 2 {
				t.Errorf("its tools are %v", got)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestOnlyRepeatedFailuresWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", time.Second)
		learned(t, store, a)
		a.fail(errors.New(`server "a": the disk is full`))
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		call := func(want int32) {
			t.Helper()
			_, err := callTool(t.Context(), g, "a__who")
			if err == nil || !strings.HasSuffix(err.Error(), `server "a" is not connected: the disk is full`) || strings.Count(err.Error(), `"a"`) != 1 {
				t.Errorf("the error is %v", err)
			}
			if a.dials.Load() != want {
				t.Errorf("it was started %d times, want %d", a.dials.Load(), want)
			}
		}
		call(1)
		call(2) // after one failure there is no wait
		call(2) // after two there is
		call(2)
		time.Sleep(3 * time.Second)
		call(3)
		time.Sleep(3 * time.Second)
		call(3) // the pauses grow
		time.Sleep(2 * time.Second)
		call(4)
		time.Sleep(time.Hour)
		if a.dials.Load() != 4 {
			t.Errorf("nobody called, and it was started %d times", a.dials.Load())
		}
		a.fails.Store(nil)
		if _, err := callTool(t.Context(), g, "a__who"); err != nil {
			t.Errorf("when it works again: %v", err)
		}
	})
}

func TestAServerThatWasNeverSeenIsTriedAgainWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", 0)
		a.fail(errors.New("no such package"))
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		time.Sleep(time.Hour)
		if n := a.dials.Load(); n < 10 || n > 25 {
			t.Errorf("it was started %d times in an hour", n)
		}
		a.fails.Store(nil)
		time.Sleep(6 * time.Minute)
		if s := g.Status()[0]; s.State != gateway.Connected || len(toolNames(t, g)) != 2 {
			t.Errorf("it is %v", s.State)
		}
	})
}

func TestListsWaitOnlyAMomentForANewServerWhereOthersAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a, b := memory(t), newProgram(t, "a", time.Second), newProgram(t, "b", time.Minute)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		a.join(g, store)
		b.join(g, store)
		began := time.Now()
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: "2025-06-18", Logger: quiet})
		must(t, err)
		defer c.Close()
		if took := time.Since(began); took != 0 {
			t.Errorf("initialize took %v", took)
		}
		for range 3 {
			if got := toolNames(t, g); len(got) != 2 {
				t.Errorf("tools are %v", got)
			}
		}
		if took := time.Since(began); took > 250*time.Millisecond {
			t.Errorf("the lists took %v", took)
		}
		time.Sleep(2 * time.Minute)
		if got := toolNames(t, g); len(got) != 4 {
			t.Errorf("later tools are %v", got)
		}
	})
}

func TestACallEndsWithItsClientWhileTheServerStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := memory(t), newProgram(t, "a", time.Hour)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		a.join(g, store)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := g.Handle(ctx, mcp.NewRequest("tools/call", json.RawMessage(`{"name":"a__who"}`)))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := g.Handle(t.Context(), mcp.NewRequest("tools/call", json.RawMessage(`{"name":"a__who"}`)))
			waiting <- err
		}()
		synctest.Wait()
		must(t, g.Close())
		if err := <-waiting; err == nil {
			t.Error("a call of a closed gateway succeeded")
		}
	})
}

// If only one program may start at a time, no place is kept free, as unknown lists would never be
// read.
func TestUnknownServersStartOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		a, b := newProgram(t, "a", time.Second), newProgram(t, "b", time.Second)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet, MaxStarts: 1})
		defer g.Close()
		a.join(g, store)
		b.join(g, store)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := g.Settle(ctx); err != nil {
			t.Errorf("b was not started: %v", err)
		}
	})
}

// A name that no member had while a server was not known belongs to the other server when that
// turns out to offer nothing.
func TestANameIsNotContestedByAServerThatOffersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet, FirstList: time.Millisecond})
		defer g.Close()
		empty := mcp.NewServer("empty", "1")
		must(t, add(g, "a", func(ctx context.Context) (*mcp.Client, error) {
			time.Sleep(time.Minute)
			return mcp.DialWith(ctx, stream.Pipe(empty), mcp.ClientOptions{Name: "a", Bridge: true, Logger: quiet})
		}))
		must(t, g.AddHandler("a__b", member(t, "b")))
		synctest.Wait()
		if got := toolNames(t, g); slices.Contains(got, "a__b__who") {
			t.Errorf("before a is known, the tools are %q", got)
		}
		time.Sleep(2 * time.Minute)
		if got := toolNames(t, g); !slices.Contains(got, "a__b__who") {
			t.Errorf("when a is known, the tools are %q", got)
		}
	})
}

// Remembered definitions are enough to call a server: a list that it never returns does not delay
// calls.
func TestACallToARememberedServerDoesNotWaitForItsLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		a := newProgram(t, "a", time.Second)
		learned(t, store, a)
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		stalls := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "prompts/list" {
				<-ctx.Done()
				return mcp.Result{}, ctx.Err()
			}
			return a.server.Handle(ctx, req)
		})
		must(t, g.Add("a", gateway.Upstream{Program: true, Memory: store.Entry(definitions.Origin{Command: "a"}), Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			return mcp.DialWith(ctx, stream.Pipe(stalls), mcp.ClientOptions{Name: "a", Bridge: true, Logger: quiet})
		}}))
		began := time.Now()
		if _, err := callTool(t.Context(), g, "a__who"); err != nil || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
