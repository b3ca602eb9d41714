package adversity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const (
	clients   = 16
	callTime  = (3 + 2*slow) * time.Second // what a call may take
	margin    = slow * 500 * time.Millisecond
	closeTime = slow * 3 * time.Second // what closing may take
)

// serving are the options of the bridge toward its clients.
var serving = mcp.ServeOptions{Logger: quiet, DrainTimeout: time.Second}

var quiet = slog.New(slog.DiscardHandler)

// done is closed when the connection of a client is lost.
func done(c *mcp.Client) <-chan struct{} { return c.Done() }

// listen hears of changes until ctx is done; agreed is closed when the server agreed.
func listen(ctx context.Context, c *mcp.Client, filter mcp.SubscriptionFilter, changed func(method string), agreed chan<- struct{}) error {
	return c.ListenWith(ctx, filter, func(n mcp.Notification) { changed(n.Method) }, func(mcp.SubscriptionFilter) { close(agreed) })
}

// A crowd is the clients of one bridge, each with a connection of its own.
type crowd struct {
	t       *testing.T
	place   *place
	bridge  mcp.Handler
	clients []*client
	web     string   // the bridge's URL, for Streamable HTTP
	closing []func() // in order
}

// A client has a number, which everything that it may see has to bear.
type client struct {
	*mcp.Client
	t       *testing.T
	number  int
	label   string
	misled  atomic.Bool // it got what is another client's
	ignores atomic.Bool // it does not answer what it is asked
}

// gather connects the clients to a bridge. In a bubble they come in lines, else
// over all transports.
func (c *crowd) gather(inMemory bool) {
	revisions := []string{modern, "2025-11-25", modern, "2025-06-18"}
	var older string
	if !inMemory {
		c.web = c.serve(streamable.HandlerWith(c.bridge, streamable.Options{ServeOptions: serving}))
		older = c.serve(httpsse.HandlerWith(c.bridge, httpsse.Options{ServeOptions: serving}))
	}
	var connecting sync.WaitGroup
	for i := range clients {
		cl := &client{t: c.t, number: i}
		c.clients = append(c.clients, cl)
		transport, revision := mcp.Transport(nil), revisions[i%4]
		switch {
		case inMemory || i%3 == 0:
			transport = c.lines()
		case i%3 == 1:
			transport = streamable.ClientWith(c.web, streamable.ClientOptions{Logger: quiet})
		case revision == modern:
			transport = c.lines()
		default:
			transport = httpsse.ClientWith(older, httpsse.ClientOptions{Logger: quiet})
		}
		cl.label = fmt.Sprintf("client %d (%s, %T)", i, revision, transport)
		connecting.Go(func() { cl.connect(transport, revision) })
	}
	connecting.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// An endpoint is a server transport on HTTP.
type endpoint interface {
	http.Handler
	Close()
}

func (c *crowd) serve(e endpoint) (url string) {
	s := httptest.NewServer(e)
	c.closing = append(c.closing, e.Close, s.Close)
	return s.URL
}

// lines serves one client as on standard input and output, and counts what it
// gets for each of its requests.
func (c *crowd) lines() mcp.Transport {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer toClient.Close()
		stdio.ServeStreams(context.Background(), c.bridge, fromClient, &tap{t: c.t, out: toClient, seen: map[string]bool{}}, serving)
	}()
	c.closing = append(c.closing, func() {
		fromClient.Close()
		<-served
	})
	return stream.OverWith(&duplex{fromServer, toServer, func() {}}, "bridge", stream.ClientOptions{Logger: quiet})
}

// A tap fails the test when a request is answered twice.
type tap struct {
	t    *testing.T
	out  io.Writer
	mu   sync.Mutex
	seen map[string]bool // ids that were answered
	part []byte
}

func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.part = append(w.part, b...)
	for {
		line, rest, whole := strings.Cut(string(w.part), "\n")
		if !whole {
			break
		}
		w.part = []byte(rest)
		var m message
		switch err := json.Unmarshal([]byte(line), &m); {
		case err != nil, !jsontext.Value(line).IsValid(): // with a member twice, for one
			w.t.Errorf("the bridge sent what is no message: %s", line)
		case m.Method == "" && w.seen[string(m.ID)]:
			w.t.Errorf("the bridge answered twice: %s", line)
		case m.Method == "":
			w.seen[string(m.ID)] = true
		}
	}
	w.mu.Unlock()
	return w.out.Write(b)
}

func (c *client) connect(transport mcp.Transport, revision string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*callTime)
	defer cancel()
	dialed, err := mcp.DialWith(ctx, transport, mcp.ClientOptions{
		Revision: revision, Logger: quiet, LogLevel: mcp.LogInfo, NoCache: true,
		OnElicit: func(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.mine("was asked", req.Message)
			if c.ignores.Load() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(fmt.Sprintf(`{"answer":"answered by client %d"}`, c.number))}, nil
		},
		OnSample: func(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			c.mine("was asked", req.Messages[0].Content[0].Text)
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{mcp.Text(fmt.Sprintf("answered by client %d", c.number))}}, nil
		},
		OnLog: func(m mcp.LogMessage) {
			if strings.Contains(string(m.Data), "about") {
				c.mine("got the log message", string(m.Data))
			}
		},
	})

	if err != nil {
		c.t.Errorf("%s: %v", c.label, err)
		return
	}
	c.Client = dialed
}

// mine fails the test if what the client got is about somebody else's call.
func (c *client) mine(how, what string) {
	if !strings.Contains(what, fmt.Sprintf("client %d call", c.number)) && !c.misled.Swap(true) { // once is enough
		c.t.Errorf("%s %s %q", c.label, how, what)
	}
}

// An outcome is how a call ended.
type outcome struct {
	client *client
	call   int
	text   string
	err    error
	late   bool // it did not end within its deadline, which is reported already
}

// arguments of a call.
type arguments struct {
	Client, Call int
	Do           string
}

// call calls a tool and waits until the call ends, but not much longer than its
// deadline.
func (c *client) call(tool string, n int, do string) outcome {
	return c.within(callTime, tool, n, do)
}

func (c *client) within(d time.Duration, tool string, n int, do string) outcome {
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	ended := make(chan outcome, 1)
	go func() {
		result, err := c.CallTool(ctx, tool, arguments{c.number, n, do})
		o := outcome{client: c, call: n, err: err}
		if err == nil {
			o.text = result.Text()
		}
		if err == nil && result.IsError {
			o.err = &mcp.Error{Message: o.text}
		}
		ended <- o
	}()
	select {
	case o := <-ended:
		return o
	case <-time.After(d + margin):
		c.t.Errorf("%s: call %d of %s did not end %v after its deadline", c.label, n, tool, margin)
		return outcome{client: c, call: n, late: true}
	}
}

// right fails the test unless the call was answered, and rightly.
func (o outcome) right() outcome {
	c := o.client
	c.t.Helper()
	want := fmt.Sprintf("client %d call %d", c.number, o.call)
	if o.late {
		return o
	}
	if text, more, _ := strings.Cut(o.text, ","); o.err != nil || text != want {
		c.t.Errorf("%s: call %d: %q, %v", c.label, o.call, o.text, o.err)
	} else if by := answered.FindString(more); by != "" && by != fmt.Sprintf("answered by client %d", c.number) {
		c.t.Errorf("%s: call %d was %s", c.label, o.call, by)
	}
	return o
}

// wasAsked fails the test unless the call was answered with the client's own response.
func (o outcome) wasAsked() {
	o.client.t.Helper()
	if o.right(); !o.late && o.err == nil && answered.FindString(o.text) == "" {
		o.client.t.Errorf("%s: call %d: %q, want the client's response in it", o.client.label, o.call, o.text)
	}
}

// lost fails the test unless the call failed because its response was lost, and
// the error says so.
func (o outcome) lost() {
	o.client.t.Helper()
	o.clear("lost|may have executed")
}

// clear fails the test unless the call failed with an error that says why, in
// words that match the pattern.
func (o outcome) clear(pattern string) {
	o.client.t.Helper()
	if o.late {
		return
	}
	var fault *mcp.Error
	switch {
	case o.err == nil:
		o.client.t.Errorf("%s: call %d was answered with %q, want an error like %q", o.client.label, o.call, o.text, pattern)
	case !regexp.MustCompile(pattern).MatchString(o.err.Error()),
		!errors.As(o.err, &fault) && !strings.Contains(o.err.Error(), "adversary"):
		o.client.t.Errorf("%s: call %d: %v; want a clear error like %q", o.client.label, o.call, o.err, pattern)
	}
}

// rightOrClear allows either.
func (o outcome) rightOrClear() {
	o.client.t.Helper()
	if o.err == nil {
		o.right()
		return
	}
	o.clear("")
}

// timedOut fails the test unless the call ended at its deadline.
func (o outcome) timedOut() {
	o.client.t.Helper()
	if !o.late && !errors.Is(o.err, context.DeadlineExceeded) {
		o.client.t.Errorf("%s: call %d: %q, %v; want its deadline", o.client.label, o.call, o.text, o.err)
	}
}

// everybody runs f for all clients at the same time.
func (c *crowd) everybody(f func(c *client)) {
	var all sync.WaitGroup
	for _, cl := range c.clients {
		all.Go(func() { f(cl) })
	}
	all.Wait()
}

// close ends everything, and fails the test if that takes long or leaves calls
// open at the server.
func (c *crowd) close() {
	within(c.t, "closing clients and bridge", func() {
		c.everybody(func(c *client) {
			if c.Client != nil {
				c.Close()
			}
		})
		for _, f := range c.closing {
			f()
		}
		c.bridge.(io.Closer).Close()
	})
	eventually(c.t, "no call is open at the server", func() bool { return c.place.server == nil || c.place.server.open.Load() == 0 })
	within(c.t, "closing the server", c.place.close)
}

// within fails the test if f takes longer than closing may.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(closeTime):
		t.Errorf("%s takes longer than %v", what, closeTime)
	}
}

// eventually polls for a state of the server.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(closeTime); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not after %v: %s", closeTime, what)
			return
		}
	}
}
