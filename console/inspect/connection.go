package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/traffic"
)

// The states of a connection.
const (
	connecting = "connecting"
	connected  = "connected"
	failed     = "failed" // it was not connected
	ended      = "ended"  // it was connected, and the server or the network ended it
	closed     = "closed" // by a page, or as no page followed it
)

const (
	slowTime    = 10 * time.Second // before it is said that a server has not answered yet
	explainTime = 20 * time.Second // to find out why a server cannot be connected to
)

// errClosed is why a connection ends that a page closes.
var errClosed = errors.New("the connection was closed")

// A connection is one to a server, with what became of it. It can be connected again.
type connection struct {
	of      *Inspector
	id      string
	server  Server
	journal *journal
	log     traffic.Log // of its messages
	unsee   func()      // ends that they are shown
	ctx     context.Context
	end     context.CancelCauseFunc
	work    sync.WaitGroup // its goroutines
	once    sync.Once      // it is closed

	mu        sync.Mutex
	state     string
	fault     *Fault
	attempt   *attempt // the last one
	level     mcp.LogLevel
	gone      bool // no goroutine may begin
	users     int  // requests of pages that are being answered
	idle      *time.Timer
	asked     []*asked
	held      int // bytes of results in asked
	questions map[uint64]*question
	signing   bool
	listened  *listening
}

// An attempt is one time that a server is connected to.
type attempt struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
	// The others are under the connection's mu.
	opened  *Opened     // nil until it is found
	client  *mcp.Client // nil while it is not connected
	stray   string      // the first line of standard output that was no message
	refused bool        // initialize was not answered
	older   bool        // HTTP+SSE took the place of Streamable HTTP
}

func newConnection(of *Inspector, id string, s Server) *connection {
	c := &connection{of: of, id: id, server: s, journal: newJournal(), state: connecting, level: mcp.LogInfo, questions: map[uint64]*question{}}
	c.unsee = c.log.See(c.sees)
	c.ctx, c.end = context.WithCancelCause(of.ctx)
	c.idle = time.AfterFunc(idleTime, c.close)
	return c
}

// spawn runs f in a goroutine of the connection; false where it ends.
func (c *connection) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.work.Go(f)
	return true
}

// use keeps the connection while a page wants something of it.
func (c *connection) use() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	c.idle.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.users--; c.users == 0 && !c.gone {
			c.idle.Reset(idleTime)
		}
	}
}

// close ends the connection for good.
func (c *connection) close() {
	c.once.Do(func() {
		c.end(errClosed)
		c.mu.Lock()
		c.gone = true
		c.idle.Stop()
		c.mu.Unlock()
		c.work.Wait()
		c.unsee()
		c.become(closed, nil)
		c.journal.end()
		c.of.forget(c)
		c.of.running.Done()
	})
}

// reconnect connects once more, and ends the connection that there is.
func (c *connection) reconnect(*http.Request) (any, error) {
	c.start()
	return reply.Accepted{Body: c.view()}, nil
}

// start begins an attempt, once the one before it is over.
func (c *connection) start() {
	ctx, cancel := context.WithCancelCause(c.ctx)
	a := &attempt{cancel: cancel, over: make(chan struct{})}
	c.mu.Lock()
	before := c.attempt
	c.attempt, c.state, c.fault = a, connecting, nil
	c.mu.Unlock()
	if !c.spawn(func() {
		defer close(a.over)
		defer cancel(nil)
		if before != nil {
			before.cancel(errors.New("it is connected again"))
			<-before.over
		}
		c.run(ctx, a)
	}) {
		cancel(nil)
		close(a.over)
	}
}

// run connects, and waits for the end of the connection.
func (c *connection) run(ctx context.Context, a *attempt) {
	c.become(connecting, nil)
	began := time.Now()
	slow := time.AfterFunc(slowTime, func() {
		c.step("wait", true, began, "the server has not answered yet: what npx, uvx or docker start is downloaded first, which takes a while")
	})
	client, err := c.dial(ctx, a)
	slow.Stop()
	if err != nil {
		c.settle(ctx, a, failed, err)
		return
	}
	c.mu.Lock()
	a.client = client
	c.mu.Unlock()
	c.step("connect", true, began, "connected, revision %s", client.Revision())
	c.become(connected, nil)
	select {
	case <-client.Done():
		c.settle(ctx, a, ended, client.Err())
	case <-ctx.Done():
	}
	c.mu.Lock()
	a.client = nil
	c.mu.Unlock()
	_ = client.Close() // why it ended is known
}

// dial finds the server, and connects to it.
func (c *connection) dial(ctx context.Context, a *attempt) (*mcp.Client, error) {
	opened, err := c.of.options.Open(ctx, c.server, Hooks{HTTP: c.transport, Stdout: func(line string) { c.stdout(a, line) },
		Stderr: func(text string) { c.journal.add("stderr", line{Line: text}) }})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	a.opened = opened
	c.mu.Unlock()
	o := opened.Client
	o.Name, o.Timeout, o.NoCache, o.Bridge = opened.Name, -1, true, false
	if c.server.Revision != "" {
		o.Revision = c.server.Revision
	}
	o.Wire, o.Capabilities = c.log.Server(opened.Name), apps.Capabilities()
	o.Middleware = []mcp.Middleware{c.marked, tasks.Wait(tasks.WaitOptions{OnTask: c.taskBegan, OnLook: c.taskLooked})}
	o.OnElicit, o.ElicitURL, o.OnSample, o.SampleTools, o.OnRoots = c.elicit, true, c.sample, true, c.roots
	return mcp.DialWith(ctx, opened.Transport, o)
}

// settle says why there is no connection, unless somebody ended it on this side.
func (c *connection) settle(ctx context.Context, a *attempt, state string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("the connection ended")
	}
	fault := c.explain(ctx, a, err)
	if state == ended && fault.Link == "start" { // which it had done
		fault.Link, fault.Remedy = "", "read in its output why it ended, and connect again; that it ended while it was in use is a fault of the server"
	}
	c.become(state, &fault)
}

// explain says in words what an error means.
func (c *connection) explain(ctx context.Context, a *attempt, err error) Fault {
	if known, is := errors.AsType[*FaultError](err); is {
		return known.Fault
	}
	c.mu.Lock()
	opened, stray := a.opened, a.stray
	c.mu.Unlock()
	if opened == nil || opened.Explain == nil {
		return Fault{Cause: err.Error(), Remedy: "look at the configuration: junction list shows what is in it"}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	return opened.Explain(ctx, err, stray)
}

// become changes the state, and says so.
func (c *connection) become(state string, fault *Fault) {
	c.mu.Lock()
	c.state, c.fault = state, fault
	c.mu.Unlock()
	c.journal.add("state", c.view())
}

// A step is a part of connecting.
type step struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Millis int64  `json:"ms"`
}

func (c *connection) step(name string, ok bool, since time.Time, format string, args ...any) {
	c.journal.add("step", step{name, ok, plaintext.Line(fmt.Sprintf(format, args...), maxDetail), time.Since(since).Milliseconds()})
}

// maxDetail is how much is said of a step, in characters.
const maxDetail = 1_000

// A line is one of a program's output.
type line struct {
	Line   string `json:"line"`
	Remedy string `json:"remedy,omitempty"`
}

func (c *connection) stdout(a *attempt, text string) {
	c.mu.Lock()
	if a.stray == "" {
		a.stray = text
	}
	c.mu.Unlock()
	c.journal.add("stdout", line{text, "standard output is for messages of JSON-RPC only, and other clients fail at this line: the server must log to standard error"})
}

// A view is what a page is shown of a connection.
type view struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	Origin       string              `json:"origin,omitempty"`
	Server       Server              `json:"server"`            // without secrets
	Reached      *Server             `json:"reached,omitempty"` // what a configuration says of Server, without secrets
	State        string              `json:"state"`
	Fault        *Fault              `json:"fault,omitempty"`
	Transport    string              `json:"transport,omitempty"`
	Era          string              `json:"era,omitempty"`
	Revision     string              `json:"revision,omitempty"`
	Info         *mcp.Implementation `json:"info,omitempty"`
	Capabilities json.RawMessage     `json:"capabilities,omitempty"`
	Instructions string              `json:"instructions,omitempty"`
	Level        mcp.LogLevel        `json:"level"`
	Listens      *listening          `json:"subscriptions,omitempty"`
	CanLogin     bool                `json:"canLogin"`
	Running      int                 `json:"running"`
	Questions    int                 `json:"questions"`
	Events       uint64              `json:"events"` // the id of the last one before this
}

func (c *connection) view() view {
	c.mu.Lock()
	v := view{ID: c.id, Server: c.server.redacted(), State: c.state, Fault: c.fault, Level: c.level, Questions: len(c.questions), Events: c.journal.lastID()}
	if c.listened != nil {
		now := *c.listened // what the server agrees to comes later
		v.Listens = &now
	}
	v.Name = v.Server.Name + v.Server.URL + v.Server.Command
	for _, one := range c.asked {
		if one.State == running {
			v.Running++
		}
	}
	a := c.attempt
	var client *mcp.Client
	if a != nil {
		client = a.client
		if o := a.opened; o != nil {
			v.Name, v.Origin, v.CanLogin = o.Name, o.Origin, o.Login != nil
			v.Transport = a.transport()
			if e := o.Entry; v.Server.Name != "" && e.Command+e.URL != "" {
				v.Reached = &Server{URL: e.URL, Command: e.Command, Args: e.Args, Dir: e.Dir}
			}
		}
	}
	c.mu.Unlock()
	if client == nil {
		return v
	}
	v.Revision, v.Era, v.Info, v.Instructions = client.Revision(), "modern", client.Server(), client.Instructions()
	if slices.Contains(revision.Legacy(), v.Revision) {
		v.Era = "legacy"
	}
	if said, err := client.Do(context.Background(), "server/discover", nil); err == nil { // the connection knows it
		if body, err := said.Encoded(); err == nil {
			v.Capabilities = jsonrpc.Get(body, "capabilities")
		}
	}
	return v
}

// redacted is a Server without what may be secret.
func (s Server) redacted() Server {
	hidden := func(values map[string]string) map[string]string {
		values = maps.Clone(values)
		for name := range values {
			values[name] = hiddenValue
		}
		return values
	}
	s.URL, s.Args = redact.URL(s.URL), redact.Arguments(s.Args)
	s.Headers, s.Env = hidden(s.Headers), hidden(s.Env)
	return s
}

// connectedTo is the client, or why there is none.
func (c *connection) connectedTo() (*mcp.Client, *attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt == nil || c.attempt.client == nil {
		return nil, nil, reply.Refuse(http.StatusConflict, "there is no connection now (%s): connect again first", c.state)
	}
	return c.attempt.client, c.attempt, nil
}
