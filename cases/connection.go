package cases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// A connection is a client's connection to a server that was started for cases. It stores the
// messages of the server.
type connection struct {
	run                 *fileRun
	revision, transport string

	client *mcp.Client
	used   bool // whether a case has run
	vars   vars
	ends   []func() error // functions for close, which calls them in reverse order

	mu         sync.Mutex
	answers    answers        // replies of the running case
	replied    map[string]int // number of used replies, by kind
	unanswered []string       // failures about requests of the server that had no reply
	events     []event
	held       int           // size of events in bytes
	changed    chan struct{} // closed and replaced when an event is added
}

// An event is a message of the server that cases can expect.
type event struct {
	kind, subject string
	params        any
}

// Limits of the messages stored for a case. At a limit, further messages are dropped.
const (
	maxEventBytes = 64 << 20
	eventOverhead = 200 // size of an event without its parameters, in bytes
	valueOverhead = 64  // size of a nested value without its JSON, in bytes
	maxUnanswered = 100 // requests without a reply that are reported
)

// listenTime is the longest wait for the acknowledgement of a subscription.
const listenTime = 30 * time.Second

// target creates the working folder of the server and returns the server's transport.
func (c *connection) target(ctx context.Context) (*Target, error) {
	f := c.run.file
	dir, remove, err := f.folder()
	if err != nil {
		return nil, err
	}
	c.ends = append(c.ends, remove)
	here, err := filepath.Abs(filepath.Dir(f.Path))
	if err != nil {
		return nil, err
	}
	c.vars = vars{placeDir: dir, placeHere: here}
	server := f.Server
	if c.run.o.Server != nil {
		server = *c.run.o.Server
	}
	if server.isZero() {
		return nil, errors.New("no server: the file names none, and neither does the command line")
	}
	filled := Server{Name: c.vars.text(server.Name), Recording: server.Recording, Recorded: server.Recorded, Env: map[string]string{}}
	if filled.Recording != "" && !filepath.IsAbs(filled.Recording) {
		filled.Recording = filepath.Join(here, filled.Recording)
	}
	for _, word := range server.Command {
		filled.Command = append(filled.Command, c.vars.text(word))
	}
	for name, value := range server.Env {
		filled.Env[name] = c.vars.text(value)
	}
	if !f.isArchive && (filled.Name != "" || c.run.o.Server != nil) {
		dir = "" // the folder in which other commands start the server
	}
	return c.run.o.Connect(ctx, filled, dir)
}

// open starts the server and connects to it.
func (c *connection) open(ctx context.Context) error {
	// The file's own replies apply before the first case, because some servers ask for roots when
	// they start.
	c.used, c.changed, c.answers, c.replied = false, make(chan struct{}), c.run.file.answers, map[string]int{}
	t, err := c.target(ctx)
	if err != nil {
		return err
	}
	o := c.options(t.Options)
	transport := t.Transport
	if c.transport != t.Kind {
		if transport, err = c.bridge(ctx, t, o); err != nil {
			return err
		}
	}
	client, err := mcp.DialWith(ctx, transport, o)
	if err != nil {
		return err
	}
	c.client = client
	c.ends = append(c.ends, client.Close)
	return c.listen(ctx)
}

// close calls the functions in c.ends.
func (c *connection) close() {
	for i := len(c.ends) - 1; i >= 0; i-- {
		_ = c.ends[i]() // an error of a server while it stops fails no case
	}
	c.ends, c.client = nil, nil
}

// lost reports whether the connection has ended or was never opened.
func (c *connection) lost() bool {
	if c.client == nil {
		return true
	}
	select {
	case <-c.client.Done():
		return true
	default:
		return false
	}
}

// options completes the options of the client for the file.
func (c *connection) options(o mcp.ClientOptions) mcp.ClientOptions {
	f := c.run.file
	o.Revision, o.NoCache = c.revision, true
	if f.timeout > 0 {
		o.Timeout = f.timeout
	}
	if f.wantsLog {
		o.LogLevel, o.OnLog = mcp.LogDebug, func(m mcp.LogMessage) { c.add(kindLog, "", m) }
	}
	if f.declares("elicitation", func(a answers) bool { return a.elicit != nil }) {
		o.ElicitURL, o.OnElicit = true, c.elicited
	}
	if f.declares("sampling", func(a answers) bool { return a.sample != nil }) {
		o.OnSample = c.sampled
	}
	if f.declares("roots", func(a answers) bool { return a.roots != nil }) {
		o.OnRoots = c.rootsListed
	}
	return o
}

// settle waits for remaining messages of the previous case, so that they do not count for this one.
// It pings the server, whose response follows everything sent before. Messages that a server sends
// even later need a separate server for each case.
func (c *connection) settle(ctx context.Context, t *testCase) {
	expects := func(s *step) bool { return len(s.expect.notifications)+len(s.expect.asked) > 0 }
	if c.lost() || !slices.ContainsFunc(t.steps, expects) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.run.o.late, eventTime))
	defer cancel()
	_ = c.client.Ping(ctx) // an error is also a response; the case itself fails if the server is lost
}

// begin replaces the state of the previous case by the state of t.
func (c *connection) begin(t *testCase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.answers, c.replied, c.unanswered, c.events, c.held = true, t.answers, map[string]int{}, nil, nil, 0
	c.vars = vars{placeDir: c.vars[placeDir], placeHere: c.vars[placeHere]}
}

// add stores a message of the server as an event.
func (c *connection) add(kind, subject string, params any) {
	raw := encode(params)
	value, err := decode(raw)
	if err != nil {
		value = fmt.Sprint(params)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held += weight(raw) + eventOverhead; c.held <= maxEventBytes {
		c.events = append(c.events, event{kind, subject, value})
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// listen subscribes to the notifications that cases expect outside of requests.
func (c *connection) listen(ctx context.Context) error {
	f := c.run.file
	if !f.wantsListen {
		return nil
	}
	listening, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until close
	filter := mcp.AllLists()
	filter.ResourceSubscriptions = f.watched
	agreed, ended := make(chan struct{}), make(chan error, 1)
	agree := sync.OnceFunc(func() { close(agreed) })
	client := c.client
	go func() {
		defer close(ended)
		ended <- client.ListenWith(listening, filter, c.notified, func(mcp.SubscriptionFilter) { agree() })
	}()
	c.ends = append(c.ends, func() error {
		cancel()
		for range ended { // waits until the channel is closed
		}
		return nil
	})
	late := time.NewTimer(listenTime)
	defer late.Stop()
	select {
	case <-agreed:
		return nil
	case err := <-ended:
		return fmt.Errorf("the server does not notify: %w", err)
	case <-late.C:
		return fmt.Errorf("the server did not acknowledge the subscription within %v", listenTime)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notified stores a notification about a change as an event.
func (c *connection) notified(n mcp.Notification) {
	if list := revision.Changed(n.Method); list != "" {
		c.add(kindChanged, list, nil)
	} else if n.URI != "" {
		c.add(kindUpdated, n.URI, nil)
	}
}
