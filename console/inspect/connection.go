package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/eventstream"
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
	connecting  = "connecting"
	connected   = "connected"
	failedState = "failed" // the connection was never made
	ended       = "ended"  // the server or the network ended the connection
	closed      = "closed" // a page closed the connection, or no page followed it
)

const (
	slowTime    = 10 * time.Second // time after which an event reports that a server has not responded yet
	explainTime = 20 * time.Second // timeout for finding the reason why connecting failed
)

// errClosed is the cause if a page closes a connection.
var errClosed = errors.New("the connection was closed")

// A connection is a connection to a server, with its history. It can be made again after it ended.
type connection struct {
	inspector     *Inspector
	id            string
	server        Server
	journal       *journal
	log           traffic.Log // observes the messages
	stopObserving func()      // stops the observation of messages
	ctx           context.Context
	end           context.CancelCauseFunc
	work          sync.WaitGroup // the goroutines of the connection
	once          sync.Once      // makes close run once

	mu           sync.Mutex
	state        string
	fault        *Fault
	attempt      *attempt // the latest attempt
	level        mcp.LogLevel
	closing      bool // set when no further goroutine may start
	users        int  // number of requests of pages that are being handled
	idle         *time.Timer
	requests     []*pageRequest
	requestBytes int // sum of the sizes of requests, in bytes
	questions    map[uint64]*question
	signing      bool
	subscription *subscription
}

// An attempt is one attempt to connect, and the resulting connection.
type attempt struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
	// The connection's mu guards the other fields.
	opened  *Opened     // nil until Open has found the server
	client  *mcp.Client // nil while there is no connection
	stray   string      // the first line of standard output that was not a message
	refused bool        // set if the request initialize failed
	older   bool        // set if HTTP+SSE is used because Streamable HTTP failed
}

func newConnection(of *Inspector, id string, s Server) *connection {
	c := &connection{inspector: of, id: id, server: s, journal: newJournal(), state: connecting, level: mcp.LogInfo, questions: map[uint64]*question{}}
	c.stopObserving = c.log.See(c.observe)
	c.ctx, c.end = context.WithCancelCause(of.ctx)
	c.idle = time.AfterFunc(idleTime, c.close)
	return c
}

// spawn runs f in a goroutine that close waits for. It returns false if the connection is being
// closed.
func (c *connection) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.work.Go(f)
	return true
}

// use prevents that the connection is closed as unused before done is called.
func (c *connection) use() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	c.idle.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.users--; c.users == 0 && !c.closing {
			c.idle.Reset(idleTime)
		}
	}
}

// close ends the connection permanently.
func (c *connection) close() {
	c.once.Do(func() {
		c.end(errClosed)
		c.mu.Lock()
		c.closing = true
		c.idle.Stop()
		c.mu.Unlock()
		c.work.Wait()
		c.stopObserving()
		c.become(closed, nil)
		c.journal.end()
		c.inspector.mu.Lock()
		c.inspector.all = slices.DeleteFunc(c.inspector.all, func(other *connection) bool { return other == c })
		c.inspector.mu.Unlock()
		c.inspector.running.Done()
	})
}

// reconnect ends the present connection and connects again.
func (c *connection) reconnect(*http.Request) (any, error) {
	c.start()
	return reply.Accepted{Body: c.view()}, nil
}

// start begins an attempt, which runs after the end of the one before it.
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
		c.step("wait", true, began, "the server has not answered yet: npx, uvx and docker first download what they start, which takes a while")
	})
	client, err := c.dial(ctx, a)
	slow.Stop()
	if err != nil {
		c.reportEnd(ctx, a, failedState, err)
		return
	}
	c.mu.Lock()
	a.client = client
	c.mu.Unlock()
	c.step("connect", true, began, "connected, revision %s", client.Revision())
	c.become(connected, nil)
	select {
	case <-client.Done():
		c.reportEnd(ctx, a, ended, client.Err())
	case <-ctx.Done():
	}
	c.mu.Lock()
	a.client = nil
	c.mu.Unlock()
	_ = client.Close() // the reason for the end is already known
}

// dial finds the server and connects to it.
func (c *connection) dial(ctx context.Context, a *attempt) (*mcp.Client, error) {
	opened, err := c.inspector.options.Open(ctx, c.server, Hooks{HTTP: c.transport, Stdout: func(line string) { c.stdout(a, line) },
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

// reportEnd sets the state and the reason why there is no connection, unless the console ended it.
func (c *connection) reportEnd(ctx context.Context, a *attempt, state string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("the connection ended")
	}
	fault := c.explain(ctx, a, err)
	if state == ended && fault.Link == "start" { // the start of the program had succeeded
		fault.Link, fault.Remedy = "", "read the reason in its output, and connect again; a server must not end while it is in use"
	}
	c.become(state, &fault)
}

// explain describes an error for users.
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

// become sets the state and adds an event about it.
func (c *connection) become(state string, fault *Fault) {
	c.mu.Lock()
	c.state, c.fault = state, fault
	c.mu.Unlock()
	c.journal.add("state", c.view())
}

// A step is one step of connecting.
type step struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Millis int64  `json:"ms"`
}

func (c *connection) step(name string, ok bool, since time.Time, format string, args ...any) {
	c.journal.add("step", step{name, ok, plaintext.Line(fmt.Sprintf(format, args...), maxDetail), time.Since(since).Milliseconds()})
}

// maxDetail is the maximum number of characters of a step's detail.
const maxDetail = 1_000

// A line is a line of a program's output.
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
	c.journal.add("stdout", line{text, "standard output is only for messages of JSON-RPC, and other clients fail at this line: the server must log to standard error"})
}

// A view describes a connection for a page.
type view struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	Origin       string              `json:"origin,omitempty"`
	Server       Server              `json:"server"`            // without secrets
	Reached      *Server             `json:"reached,omitempty"` // the configuration of Server, without secrets
	State        string              `json:"state"`
	Fault        *Fault              `json:"fault,omitempty"`
	Transport    string              `json:"transport,omitempty"`
	Era          string              `json:"era,omitempty"`
	Revision     string              `json:"revision,omitempty"`
	Info         *mcp.Implementation `json:"info,omitempty"`
	Capabilities json.RawMessage     `json:"capabilities,omitempty"`
	Instructions string              `json:"instructions,omitempty"`
	Level        mcp.LogLevel        `json:"level"`
	Listens      *subscription       `json:"subscriptions,omitempty"`
	CanLogin     bool                `json:"canLogin"`
	Running      int                 `json:"running"`
	Questions    int                 `json:"questions"`
	Events       uint64              `json:"events"` // id of the last event that the view includes
}

func (c *connection) view() view {
	c.mu.Lock()
	v := view{ID: c.id, Server: c.server.redacted(), State: c.state, Fault: c.fault, Level: c.level, Questions: len(c.questions), Events: c.journal.lastID()}
	if c.subscription != nil {
		now := *c.subscription // a copy, because the server acknowledges the subscription later
		v.Listens = &now
	}
	v.Name = v.Server.Name + v.Server.URL + v.Server.Command
	for _, one := range c.requests {
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
	if said, err := client.Do(context.Background(), "server/discover", nil); err == nil { // needs no request, because the client has stored the response
		if body, err := said.Encoded(); err == nil {
			v.Capabilities = jsonrpc.Get(body, "capabilities")
		}
	}
	return v
}

// redacted returns a copy in which values that may be secret are hidden.
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

// connectedTo returns the client, or an error if there is no connection.
func (c *connection) connectedTo() (*mcp.Client, *attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt == nil || c.attempt.client == nil {
		return nil, nil, reply.Refuse(http.StatusConflict, "there is no connection now (%s): connect again first", c.state)
	}
	return c.attempt.client, c.attempt, nil
}

const (
	maxEvents     = 5_000    // events of a connection that can be read again
	maxEventBytes = 16 << 20 // bytes of all events of a connection
	maxOneEvent   = 1 << 20  // bytes of a message that an event includes as a whole
	maxFollowers  = 8        // concurrent streams of a connection's events
)

// An event is an event of a connection, such as a change of its state or a message.
type event struct {
	id   uint64
	name string
	data []byte
}

// A journal stores the last events of a connection. It is safe for concurrent use.
type journal struct {
	followers follow.Readers

	mu     sync.Mutex
	events follow.Ring[event]
	bytes  int
	ended  bool
}

func newJournal() *journal { return &journal{events: follow.NewRing[event](maxEvents)} }

// add appends an event. The value what must encode as a JSON object; add adds the time to it.
func (j *journal) add(name string, what any) {
	body, err := json.Marshal(what)
	if err != nil {
		return // impossible: the types are our own, and the JSON was checked
	}
	now, _ := json.Marshal(time.Now().UTC())
	body = jsonrpc.With(body, "time", now)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	j.bytes += len(body)
	for j.events.Full() || j.bytes > maxEventBytes && j.events.First < j.events.Next {
		j.bytes -= len(j.events.At(j.events.First).data)
		j.events.Drop()
	}
	j.events.Add(event{j.events.Next, name, body})
	j.events.Wake()
}

// lastID returns the id of the last event.
func (j *journal) lastID() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.events.Next - 1
}

// end marks the journal as complete.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	j.events.Wake()
}

// after returns the events that follow the event with an id, and the number of following events
// that are no longer stored. The channel more is closed when there are further events; ended means
// that there will be none.
func (j *journal) after(id uint64) (events []event, gone uint64, more <-chan struct{}, ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id >= j.events.Next {
		id = 0 // the id comes from an earlier process
	}
	first := max(id+1, j.events.First)
	for n := first; n < j.events.Next; n++ {
		events = append(events, *j.events.At(n))
	}
	return events, first - id - 1, j.events.Changed(), j.ended
}

// A follower reads the events of a journal for one page. It copies at most [follow.MaxPart] bytes
// at a time, so that slow readers need little memory.
type follower struct {
	*journal
	last uint64 // id of the last event that was sent, at least partly
	rest []byte // the unsent part of that event
}

// next appends the next part of the new events to text.
func (f *follower) next(text []byte) (_ []byte, more <-chan struct{}, over bool) {
	if len(f.rest) > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last < f.events.First {
			return text, nil, true // otherwise only this reader would hold the dropped event; it connects again and gets a gap event
		}
		return f.part(text), nil, false
	}
	events, gone, more, over := f.after(f.last)
	if gone > 0 {
		missed, _ := json.Marshal(map[string]uint64{"missed": gone})
		text = eventstream.AppendEvent(text, eventstream.Event{Name: "gap", Data: missed})
		if len(events) > 0 {
			f.last = events[0].id - 1 // sends the gap only once, even if the event after it needs several parts
		}
	}
	for _, e := range events {
		if len(text) > 0 && len(text)+len(e.data) > follow.MaxPart {
			return text, nil, false
		}
		one := eventstream.Event{ID: strconv.FormatUint(e.id, 10), HasID: true, Name: e.name}
		f.last = e.id
		if len(e.data) > follow.MaxPart {
			text = bytes.TrimSuffix(eventstream.AppendEvent(text, one), []byte("\n"))
			f.rest = e.data // JSON without line breaks
			return f.part(append(text, "data: "...)), nil, false
		}
		one.Data = e.data
		text = eventstream.AppendEvent(text, one)
	}
	return text, more, over
}

// part appends the next part of the event that is partly sent.
func (f *follower) part(text []byte) []byte {
	n := min(len(f.rest), follow.MaxPart)
	text = append(text, f.rest[:n]...)
	if f.rest = f.rest[n:]; len(f.rest) == 0 {
		text = append(text, "\n\n"...)
	}
	return text
}

// stream serves the events of a connection.
func (c *connection) stream(w http.ResponseWriter, r *http.Request) error {
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("after")
	}
	last, _ := strconv.ParseUint(from, 10, 64) // if there is no valid id, all events are sent
	f := &follower{journal: c.journal, last: last}
	if !c.journal.followers.Serve(w, r, maxFollowers, follow.Stream{Begin: ": begun\n\n", Next: f.next}) {
		return reply.Refuse(http.StatusTooManyRequests, "%d pages follow this connection already", maxFollowers)
	}
	return nil
}

const (
	maxListened = 100     // maximum number of resources in a subscription
	maxURI      = 8 << 10 // maximum bytes of a URI
)

// A subscription is the subscription of a connection.
type subscription struct {
	Filter mcp.SubscriptionFilter `json:"filter"`
	// Agreed is the part of Filter that the server has acknowledged. It is nil until then.
	Agreed *mcp.SubscriptionFilter `json:"agreed,omitempty"`

	stop context.CancelCauseFunc
	over chan struct{}
}

// subscribe replaces the subscription by one with another filter. An empty filter only ends it.
func (c *connection) subscribe(r *http.Request) (any, error) {
	var filter mcp.SubscriptionFilter
	if err := decode(r, &filter, maxBody); err != nil {
		return nil, err
	}
	if len(filter.ResourceSubscriptions) > maxListened {
		return nil, reply.Refuse(http.StatusBadRequest, "at most %d resources can be listened for", maxListened)
	}
	for _, uri := range filter.ResourceSubscriptions {
		if len(uri) > maxURI {
			return nil, reply.Refuse(http.StatusBadRequest, "a URI has at most %d bytes", maxURI)
		}
	}
	client, a, err := c.connectedTo()
	if err != nil {
		return nil, err
	}
	empty := len(filter.Lists()) == 0 && len(filter.ResourceSubscriptions) == 0
	ctx, stop := context.WithCancelCause(c.ctx)
	next := &subscription{Filter: filter, stop: stop, over: make(chan struct{})}
	c.mu.Lock()
	before := c.subscription
	if c.subscription = next; empty {
		c.subscription = nil
	}
	c.mu.Unlock()
	if before != nil {
		before.stop(errors.New("another filter replaced it"))
		<-before.over
	}
	if empty || !c.spawn(func() { c.listen(ctx, next, client, a) }) {
		stop(nil)
		close(next.over)
	}
	return reply.Accepted{Body: map[string]any{"filter": filter}}, nil
}

// listen subscribes until the filter is replaced or the connection ends.
func (c *connection) listen(ctx context.Context, l *subscription, client *mcp.Client, a *attempt) {
	defer close(l.over)
	defer l.stop(nil)
	err := client.ListenWith(ctx, l.Filter, func(mcp.Notification) {}, func(offered mcp.SubscriptionFilter) {
		c.mu.Lock()
		l.Agreed = &offered
		c.mu.Unlock()
		c.journal.add("subscription", map[string]any{"filter": l.Filter, "agreed": offered})
	})
	c.mu.Lock()
	if c.subscription == l {
		c.subscription = nil
	}
	c.mu.Unlock()
	over := map[string]any{"filter": l.Filter, "ended": "it was ended here"}
	switch {
	case ctx.Err() == nil && err == nil:
		over["ended"] = "the server ended it"
	case ctx.Err() == nil:
		over["ended"] = plaintext.Line(err.Error(), maxDetail)
	}
	c.journal.add("subscription", over)
}

// setLevel sets the minimum level of log messages.
func (c *connection) setLevel(r *http.Request) (any, error) {
	var in struct {
		Level mcp.LogLevel `json:"level"`
	}
	if err := decode(r, &in, maxDescription); err != nil {
		return nil, err
	}
	if in.Level == "none" {
		in.Level = ""
	}
	if in.Level != "" && in.Level.Severity() == 0 {
		return nil, reply.Refuse(http.StatusBadRequest, `"level": expected %s`, strings.Join([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency or none"}, ", "))
	}
	c.mu.Lock()
	c.level = in.Level
	c.mu.Unlock()
	client, _, err := c.connectedTo()
	if err != nil || in.Level == "" || client.Capabilities().Logging == nil || !slices.Contains(revision.Legacy(), client.Revision()) {
		return map[string]any{"level": in.Level}, nil // modern servers get the level with each request
	}
	ctx, cancel := context.WithTimeout(r.Context(), defaultTimeout)
	defer cancel()
	w := jsonrpc.NewObject(nil)
	w.String("level", string(in.Level))
	if _, err := client.Do(ctx, "logging/setLevel", w.Bytes()); err != nil {
		return nil, reply.Refuse(http.StatusBadGateway, "%v", err)
	}
	return map[string]any{"level": in.Level}, nil
}

// A taskEvent reports the state of the task of a call whose result the page waits for.
type taskEvent struct {
	Request uint64 `json:"request,omitempty"`
	Task    string `json:"task"`
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Over    bool   `json:"over,omitempty"`
}

func (c *connection) taskBegan(ctx context.Context, _, id string, over bool) {
	c.journal.add("task", taskEvent{Request: requestOf(ctx), Task: id, Over: over})
}

func (c *connection) taskLooked(ctx context.Context, id, status, message string) {
	c.journal.add("task", taskEvent{Request: requestOf(ctx), Task: id, Status: status, Message: plaintext.Line(message, maxDetail)})
}
