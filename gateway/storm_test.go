package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A storm breaks connections between six clients, three servers and the HTTP between them, until it
// calms down.
type storm struct {
	t    *testing.T
	mu   sync.Mutex
	calm bool
	made map[string]*mcp.Server // the newest server of each member
	n    func(most int) int
}

func (s *storm) isCalm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calm
}

// An address is a listener of the network in memory. Its connections break while the storm goes on.
type address struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *address) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *address) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *address) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// serve serves a Handler over HTTP in memory, and returns a client for it. The function stop ends
// it.
func (s *storm) serve(h mcp.Handler) (way *http.Client, stop func()) {
	l := &address{conns: make(chan net.Conn), closed: make(chan struct{})}
	o := streamable.Options{RetryAfter: time.Second, ServeOptions: mcp.ServeOptions{Logger: quiet}}
	if s.n(2) == 0 {
		o.EventStore = &streamable.MemoryEvents{}
	}
	endpoint := streamable.HandlerWith(h, o)
	server := &http.Server{Handler: endpoint, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case l.conns <- far:
		case <-l.closed:
			return nil, errors.New("connection refused")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !s.isCalm() && s.n(4) == 0 {
			time.AfterFunc(time.Duration(s.n(int(10*time.Second))), func() { near.Close() })
		}
		return near, nil
	}
	transport := &http.Transport{DialContext: dial, IdleConnTimeout: 30 * time.Second}
	return &http.Client{Transport: transport}, sync.OnceFunc(func() {
		endpoint.Close()
		server.Close()
		<-done
		transport.CloseIdleConnections()
	})
}

func (s *storm) pause(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(time.Duration(s.n(int(most)))):
	case <-ctx.Done():
	}
}

// server returns a new server of a member.
func (s *storm) server(name string) *mcp.Server {
	server := mcp.NewServerWith(name, "1", mcp.ServerOptions{Logger: quiet})
	type arguments struct {
		Who string `json:"who"`
	}
	mcp.AddTool(server, "who", func(ctx context.Context, in arguments) (string, error) {
		s.pause(ctx, 3*time.Second)
		return name + " " + in.Who, nil
	})
	mcp.AddTool(server, "steps", func(ctx context.Context, in arguments) (string, error) {
		for i := range 3 {
			_ = mcp.Progress(ctx, float64(i+1), 3, in.Who)
			_ = mcp.Log(ctx, mcp.LogWarning, in.Who)
			s.pause(ctx, time.Second)
		}
		return name + " " + in.Who, nil
	})
	mcp.AddTool(server, "ask", func(ctx context.Context, in arguments) (string, error) {
		for range 2 {
			answer, err := mcp.Elicit[struct {
				Word string `json:"word"`
			}](ctx, in.Who)
			if err != nil {
				return "", err
			}
			if answer.Word != in.Who {
				s.t.Errorf("%s asked %s, and %s answered", name, in.Who, answer.Word)
			}
		}
		return name + " " + in.Who, nil
	})
	mcp.AddTool(server, "more", func(context.Context, arguments) (string, error) {
		mcp.AddTool(server, fmt.Sprintf("tool%d", s.n(1_000_000)), func(context.Context, struct{}) (string, error) { return name, nil })
		return "", nil
	})
	server.AddText(mcp.Resource{URI: "test://" + name, Name: "text"}, name)
	s.mu.Lock()
	s.made[name] = server
	s.mu.Unlock()
	return server
}

// upstream returns a server over HTTP, or one on a stream, of any revision, that ends now and then.
// One over HTTP starts again at the same address.
func (s *storm) upstream(name string) (u gateway.Upstream, stop func()) {
	revision := revisions[s.n(len(revisions))]
	options := mcp.ClientOptions{Name: name, Revision: revision, Bridge: true, Logger: quiet, LogLevel: mcp.LogDebug}
	u = gateway.Upstream{MaxInstances: 20, IdleTime: time.Minute, Isolation: []gateway.Isolation{gateway.Shared, gateway.PerClient}[s.n(2)]}
	if s.n(2) == 0 {
		u.Isolation = gateway.Shared // made holds one server
		u.Dial = func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			s.pause(ctx, 2*time.Second)
			near, far := net.Pipe()
			go stream.ServeConn(context.Background(), far, s.server(name))
			if !s.isCalm() && s.n(2) == 0 {
				time.AfterFunc(time.Duration(s.n(int(20*time.Second))), func() { far.Close() })
			}
			c, err := mcp.DialWith(ctx, stream.Over(near, name), options)
			if err != nil {
				near.Close()
			}
			return c, err
		}
		return u, func() {}
	}
	var mu sync.Mutex
	way, end := s.serve(s.server(name))
	ended := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-time.After(time.Duration(s.n(int(40 * time.Second)))):
			case <-ended:
				return
			}
			if s.isCalm() {
				return
			}
			mu.Lock()
			end() // the server starts again without the old sessions
			way, end = s.serve(s.server(name))
			mu.Unlock()
		}
	}()
	u.Dial = func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		newest := roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			t := way.Transport
			mu.Unlock()
			return t.RoundTrip(r)
		})
		return mcp.DialWith(ctx, streamable.ClientWith(stormURL, streamable.ClientOptions{HTTP: &http.Client{Transport: newest}, Logger: quiet}), options)
	}
	return u, func() {
		close(ended)
		<-over
		mu.Lock()
		defer mu.Unlock()
		end()
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stormURL is the URL that clients of HTTP dial.
const stormURL = "http://127.0.0.1:1/mcp"

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// Messages of a client reach only that client, every request ends, and after the storm clients see
// the lists of the servers.
func TestListsAreRightAndSeparateAfterAStormOfChanges(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { (&storm{t: t, n: dice(seed, 99), made: map[string]*mcp.Server{}}).blow() })
		})
	}
}

func (s *storm) blow() {
	g := gateway.New(gateway.Options{Logger: quiet})
	members := []string{"a", "b", "c"}
	stops := map[string]func(){}
	for _, name := range members {
		u, stop := s.upstream(name)
		stops[name] = stop
		must(s.t, g.Add(name, u))
	}
	way, stop := s.serve(g)
	seen := s.watch(g, way)
	updated := s.subscribe(g, members)
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			for visit := range 3 {
				s.visit(way, fmt.Sprintf("c%d.%d", i, visit), members)
			}
		})
	}
	running.Go(func() {
		for range 12 {
			s.pause(s.t.Context(), 10*time.Second)
			name := members[s.n(len(members))]
			if s.n(2) == 0 {
				must(s.t, g.Restart(name))
				continue
			}
			stops[name]()
			u, stop := s.upstream(name)
			stops[name] = stop
			if s.n(2) == 0 {
				must(s.t, g.Replace(name, u))
			} else {
				_ = g.Remove(s.t.Context(), name)
				must(s.t, g.Add(name, u))
			}
		}
	})
	running.Wait()
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	time.Sleep(2 * time.Minute)
	want := s.compare(way, g, members)
	updated()
	saw := seen()
	for who, saw := range saw {
		if !slices.Equal(saw, want) {
			s.t.Errorf("who watches the tools with %s saw at last\n%v, the servers have\n%v", who, saw, want)
		}
	}
	if len(saw) != 2*len(revisions) {
		s.t.Errorf("%d watch the tools", len(saw))
	}
	stop()
	began := time.Now()
	must(s.t, g.Close())
	if took := time.Since(began); took > 30*time.Second {
		s.t.Errorf("the end took %v", took)
	}
	for _, stop := range stops {
		stop()
	}
	time.Sleep(2 * time.Minute) // as servers wait a moment for running requests after their client is gone
}

// watch starts clients that watch the tools, over connections that hold and over HTTP, where they
// connect again. The returned function ends them, and returns the last list of each.
func (s *storm) watch(g *gateway.Gateway, way *http.Client) func() map[string][]string {
	ctx, cancel := context.WithCancel(s.t.Context())
	var mu sync.Mutex
	var watching sync.WaitGroup
	seen := map[string][]string{}
	for _, revision := range revisions {
		for how, transport := range map[string]func() mcp.Transport{
			"memory": func() mcp.Transport { return stream.Pipe(g) },
			"HTTP": func() mcp.Transport {
				return streamable.ClientWith(stormURL, streamable.ClientOptions{HTTP: way, Logger: quiet})
			},
		} {
			watching.Go(func() {
				for ctx.Err() == nil {
					err := s.watchTools(ctx, transport(), revision, func(tools []string) {
						mu.Lock()
						defer mu.Unlock()
						seen[revision+" over "+how] = tools
					})
					if how == "memory" && ctx.Err() == nil {
						s.t.Errorf("who watches with %s: %v", revision, err)
					}
					s.pause(ctx, time.Second)
				}
			})
		}
	}
	return func() map[string][]string {
		cancel()
		watching.Wait()
		return seen
	}
}

// watchTools is a client that watches the tools until its connection breaks, or ctx is done.
func (s *storm) watchTools(ctx context.Context, transport mcp.Transport, revision string, saw func([]string)) error {
	c, err := mcp.DialWith(ctx, transport, mcp.ClientOptions{Revision: revision, Logger: quiet})
	if err != nil {
		return err
	}
	defer c.Close()
	for tools, failed := range c.WatchTools(ctx) {
		if err = failed; err != nil {
			continue
		}
		names := []string{}
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		saw(names)
	}
	return err
}

// subscribe subscribes clients to a text of each member, over connections that hold. The returned
// function updates each text, checks that every client is notified, and ends them.
func (s *storm) subscribe(g *gateway.Gateway, members []string) func() {
	ctx, cancel := context.WithCancel(s.t.Context())
	var mu sync.Mutex
	var listening sync.WaitGroup
	heard := map[string]bool{}
	var filter mcp.SubscriptionFilter
	for _, name := range members {
		filter.ResourceSubscriptions = append(filter.ResourceSubscriptions, "test://"+name)
	}
	for _, revision := range revisions {
		c, err := mcp.DialWith(ctx, stream.Pipe(g), mcp.ClientOptions{Revision: revision, Logger: quiet})
		must(s.t, err)
		listening.Go(func() {
			defer c.Close()
			err := c.Listen(ctx, filter, func(n mcp.Notification) {
				mu.Lock()
				defer mu.Unlock()
				heard[revision+" "+n.URI] = true
			})
			if ctx.Err() == nil {
				s.t.Errorf("who listens with %s: %v", revision, err)
			}
		})
	}
	return func() {
		mu.Lock()
		clear(heard)
		mu.Unlock()
		s.mu.Lock()
		for _, name := range members {
			s.made[name].ResourceUpdated("test://" + name)
		}
		s.mu.Unlock()
		time.Sleep(time.Minute)
		cancel()
		listening.Wait()
		for _, revision := range revisions {
			for _, uri := range filter.ResourceSubscriptions {
				if !heard[revision+" "+uri] {
					s.t.Errorf("who listens with %s did not hear of %s", revision, uri)
				}
			}
		}
	}
}

// compare lists all tools from new clients of all revisions, and returns the tools of the servers.
func (s *storm) compare(way *http.Client, g *gateway.Gateway, members []string) (want []string) {
	s.mu.Lock()
	for _, name := range members {
		if s.made[name] == nil {
			continue
		}
		c, err := mcp.DialWith(s.t.Context(), stream.Pipe(s.made[name]), mcp.ClientOptions{Logger: quiet})
		must(s.t, err)
		for tool, err := range c.Tools(s.t.Context()) {
			must(s.t, err)
			want = append(want, name+"__"+tool.Name)
		}
		c.Close()
	}
	s.mu.Unlock()
	slices.Sort(want)
	for _, revision := range revisions {
		c, err := mcp.DialWith(s.t.Context(), streamable.ClientWith(stormURL, streamable.ClientOptions{HTTP: way, Logger: quiet}), mcp.ClientOptions{Revision: revision, Logger: quiet})
		if err != nil {
			s.t.Errorf("%s: %v", revision, err)
			continue
		}
		for _, name := range members {
			if got, err := mcp.Call[string](s.t.Context(), c, name+"__who", map[string]string{"who": "x"}); err != nil || got != name+" x" {
				s.t.Errorf("%s, after the storm: %q, %v", revision, got, err)
			}
		}
		time.Sleep(10 * time.Second) // a server that was started by the call
		var got []string
		for tool, err := range c.Tools(s.t.Context()) {
			must(s.t, err)
			got = append(got, tool.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			s.t.Errorf("%s sees\n%v, the servers have\n%v\n%+v", revision, got, want, g.Status())
		}
		c.Close()
	}
	return want
}

// visit is a client that sends various requests.
func (s *storm) visit(way *http.Client, me string, members []string) {
	const longest = 30 * time.Second
	revision := revisions[s.n(len(revisions))]
	mine := func(what, text string) {
		if !strings.HasPrefix(text, me+" ") && !strings.HasPrefix(text, "starting ") { // the gateway's own text
			s.t.Errorf("%s (%s): %s of another: %s", me, revision, what, text)
		}
	}
	ctx := s.t.Context()
	c, err := mcp.DialWith(ctx, streamable.ClientWith(stormURL, streamable.ClientOptions{HTTP: way, Logger: quiet}), mcp.ClientOptions{
		Revision: revision, Logger: quiet, LogLevel: mcp.LogDebug,
		OnElicit: func(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			mine("a question", req.Message)
			s.pause(ctx, 2*time.Second)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: fmt.Appendf(nil, `{"word":%q}`, req.Message)}, nil
		},
		OnProgress: func(p mcp.ProgressUpdate) { mine("progress", p.Message) },
		OnLog:      func(m mcp.LogMessage) { mine("a log message", strings.Trim(string(m.Data), `"`)) },
	})
	if err != nil {
		return // the connection broke
	}
	defer c.Close()
	var listening sync.WaitGroup
	defer listening.Wait()
	for i := range 25 {
		name := members[s.n(len(members))]
		ctx, cancel := context.WithTimeout(ctx, time.Duration(1+s.n(int(longest/2))))
		began := time.Now()
		tool := []string{"who", "steps", "ask", "more", "who", "ask", "listen"}[s.n(7)]
		who := fmt.Sprintf("%s %d", me, i)
		if tool == "listen" {
			listening.Go(func() {
				ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(s.n(int(longest))))
				defer cancel()
				_ = c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://" + name}}, func(mcp.Notification) {})
			})
		} else if got, err := mcp.Call[string](ctx, c, name+"__"+tool, map[string]string{"who": who}); err == nil && tool != "more" && got != name+" "+who {
			s.t.Errorf("%s of %s for %s: %q", tool, name, who, got)
		}
		cancel()
		if took := time.Since(began); took > longest {
			s.t.Errorf("%s of %s took %v", tool, name, took)
		}
		s.pause(s.t.Context(), time.Second)
	}
}
