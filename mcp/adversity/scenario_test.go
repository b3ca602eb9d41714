package adversity

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A cell is a transport and a revision that exist together.
type cell struct{ transport, revision string }

const (
	memory  = "lines in memory" // as on standard input and output, on the clock of a bubble
	process = "child process"
	web     = "Streamable HTTP"
	older   = "HTTP+SSE"
)

var cells = []cell{
	{memory, "2024-11-05"}, {memory, "2025-03-26"}, {memory, "2025-06-18"}, {memory, "2025-11-25"}, {memory, modern},
	{process, "2025-11-25"}, {process, modern},
	{web, "2025-03-26"}, {web, "2025-06-18"}, {web, "2025-11-25"}, {web, modern},
	{older, "2024-11-05"}, {older, "2025-06-18"},
}

func isLegacy(c cell) bool { return c.revision != modern }
func isModern(c cell) bool { return c.revision == modern }

// A scenario is a server that misbehaves and what sixteen clients do behind a
// bridge to it, and see.
type scenario struct {
	script  string          // of the server; one of scripts
	on      func(cell) bool // where it makes sense; nil for everywhere but in a child process
	gateway bool            // the bridge is a gateway, which connects again; else a Client
	do      func(t *testing.T, c *crowd)
}

// run runs the scenario in all cells.
func (s scenario) run(t *testing.T) {
	t.Parallel()
	for _, cell := range cells {
		if s.on == nil && cell.transport == process || s.on != nil && !s.on(cell) {
			continue
		}
		t.Run(cell.transport+" "+cell.revision, func(t *testing.T) {
			t.Parallel()
			if cell.transport != memory {
				s.play(t, cell)
				return
			}
			// A goroutine that waits for a mutex stops the clock of a bubble for good.
			watchdog := time.AfterFunc(slow*20*time.Second, func() { panic(t.Name() + ": deadlock") })
			defer watchdog.Stop()
			synctest.Test(t, func(t *testing.T) { s.play(t, cell) })
		})
	}
}

func (s scenario) play(t *testing.T, cell cell) {
	place := cell.open(t, s.script)
	c := &crowd{t: t, place: place}
	defer c.close()
	c.bridge = place.bridge(t, s.gateway)
	c.gather(cell.transport == memory)
	s.do(t, c)
}

// A place is where a scripted server can be reached.
type place struct {
	cell
	dir    string
	server *server // nil if it is a process
	dial   func(ctx context.Context, o mcp.ClientOptions) (*mcp.Client, error)
	close  func()

	mu   sync.Mutex
	last *mcp.Client
}

// lost is closed when the newest connection to the server is lost.
func (p *place) lost() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return done(p.last)
}

func (c cell) open(t *testing.T, name string) *place {
	script, ok := scripts[name]
	if !ok {
		t.Fatalf("no script %q", name)
	}
	p := &place{cell: c, dir: t.TempDir(), close: func() {}}
	transport := func() mcp.Transport { return nil }
	p.dial = func(ctx context.Context, o mcp.ClientOptions) (*mcp.Client, error) {
		o.Name, o.Logger = "adversary", quiet
		dialed, err := mcp.DialWith(ctx, transport(), o)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = dialed
		return dialed, nil
	}
	if c.transport == process {
		cmd := command.New(os.Args[0])
		cmd.Env = []string{envScript + "=" + name, envRevision + "=" + c.revision, envDir + "=" + p.dir, "GORACE=atexit_sleep_ms=0"}
		cmd.Grace, cmd.Logger = 300*time.Millisecond, quiet
		transport = func() mcp.Transport { return cmd }
		p.close = func() {
			eventually(t, "no process is left", func() bool { return len(processes(p.dir)) == 0 })
		}
		return p
	}
	p.server = newServer(c.revision, p.dir, script)
	switch c.transport {
	case memory:
		transport = func() mcp.Transport {
			return stream.OverWith(p.server.connect(), "memory", stream.ClientOptions{Logger: quiet})
		}
	case web:
		s := httptest.NewServer(p.server)
		p.close = s.Close
		transport = func() mcp.Transport { return streamable.ClientWith(s.URL, streamable.ClientOptions{Logger: quiet}) }
	case older:
		s := httptest.NewServer(sse{p.server})
		p.close = s.Close
		transport = func() mcp.Transport { return httpsse.ClientWith(s.URL, httpsse.ClientOptions{Logger: quiet}) }
	}
	return p
}

// bridge connects to the server for clients of every revision.
func (p *place) bridge(t *testing.T, asGateway bool) mcp.Handler {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*callTime)
	defer cancel()
	if !asGateway {
		c, err := p.dial(ctx, mcp.ClientOptions{Bridge: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
	if err := g.Add("adversary", gateway.Upstream{Eager: true, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		return p.dial(ctx, mcp.ClientOptions{Bridge: true})
	}}); err != nil {
		t.Fatal(err)
	}
	if err := g.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

// processes lists the child processes of a place, where the system says.
func processes(dir string) (found []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environments {
		if environ, _ := os.ReadFile(name); strings.Contains(string(environ), envDir+"="+dir+"\x00") {
			found = append(found, name)
		}
	}
	return found
}
