package httpsse

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// sessionParameter identifies the connection in the URL for messages. Anyone who knows its value
// may send messages; it is as hard to guess as a key.
const sessionParameter = "sessionId"

// A connection is one client, with its stream and the separate requests for its messages. The end
// of the stream ends the connection, as no response could be sent.
type connection struct {
	id         string
	caller     string // the caller whose share of the limits it uses
	principal  *mcp.Principal
	connection *edge.Connection
	events     *httpedge.EventWriter
	buffers    *httpedge.Buffers
	cancel     context.CancelFunc // ends the stream

	mu     sync.Mutex
	limit  int
	jobs   int  // messages in progress
	ending bool // set if no further messages are accepted
	done   sync.WaitGroup
}

// connect responds to a GET with a stream, until either side ends it.
func (e *Endpoint) connect(w http.ResponseWriter, r *http.Request, principal *mcp.Principal, refuse httpedge.Refuse) {
	if e.options.StreamPath != "" && r.URL.Path != e.options.StreamPath {
		refuse(http.StatusNotFound, "streams are opened at %s", e.options.StreamPath)
		return
	}
	if !httpedge.Accepts(r.Header["Accept"], httpedge.EventStream) {
		refuse(http.StatusNotAcceptable, "the Accept header must allow %s", httpedge.EventStream)
		return
	}
	caller := httpedge.CallerOf(r, principal)
	if e.isEnding() || !e.places.Take(caller) {
		refuse(http.StatusServiceUnavailable, "the server is shutting down, or has too many connections: at most %d, and a quarter of that number from one caller", e.options.MaxConnections)
		return
	}
	defer e.places.Give(caller)
	ctx, cancel := context.WithCancel(share.With(r.Context(), caller))
	defer cancel()
	c := &connection{id: rand.Text(), caller: caller, principal: principal, cancel: cancel, buffers: &e.buffers, limit: e.edge.MaxInFlight()}
	c.connection = e.edge.NewConnection(ctx, c, principal)
	c.connection.Way = way{r, c.id}
	c.events = httpedge.OpenEvents(w, r, httpedge.EventOptions{WriteTimeout: e.options.WriteTimeout, KeepAlive: e.options.KeepAlive, Buffers: &e.buffers}, cancel)
	defer c.end()
	if !e.add(c) {
		return
	}
	defer e.remove(c)
	c.events.Write(ctx, eventstream.Event{Name: "endpoint", Data: []byte(e.messageURL(r, c.id))})
	<-ctx.Done()
}

// Caller returns the key of the connection's share of the limits; see [share.Key].
func (c *connection) Caller() string { return c.caller }

// Send sends a message on the stream.
func (c *connection) Send(ctx context.Context, message []byte) error {
	return c.events.Write(ctx, eventstream.Event{Name: "message", Data: message})
}

// accept accepts a message, with the scopes of the message's own credentials. It reports false if
// too many messages are in progress. The response is sent on the stream.
func (c *connection) accept(body []byte, principal *mcp.Principal) bool {
	c.mu.Lock()
	if c.ending || c.jobs >= c.limit {
		c.mu.Unlock()
		return false
	}
	c.jobs++
	c.done.Add(1)
	c.mu.Unlock()
	job := new(edge.Job)
	if !c.connection.AcceptOf(job, body, principal) {
		c.jobDone()
		c.done.Done()
		return true
	}
	go func() {
		defer c.done.Done()
		c.events.WaitTurn() // waits if the client does not read its responses
		c.buffers.With(func(b []byte) []byte {
			reply := job.Run(b)
			c.jobDone() // before the client gets the response and sends its next message
			if reply != nil {
				c.Send(context.Background(), reply)
			}
			return reply
		})
	}()
	return true
}

func (c *connection) jobDone() {
	c.mu.Lock()
	c.jobs--
	c.mu.Unlock()
}

// refuseMore makes accept refuse all later messages.
func (c *connection) refuseMore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
}

// end cancels running requests and waits for them.
func (c *connection) end() {
	c.refuseMore()
	c.connection.Close()
	c.events.Close()
	c.done.Wait()
}

// drain waits for running requests, ends subscriptions with their result, and then ends the stream.
func (c *connection) drain(ctx context.Context) {
	defer c.cancel()
	c.connection.Refuse()
	c.connection.Drain(ctx)
	c.refuseMore()
	c.connection.Close()
	finished := make(chan struct{})
	go func() {
		c.done.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}
}

func (e *Endpoint) isEnding() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ending
}

// add adds a connection to the table in which messages find it. It reports false during a shutdown.
func (e *Endpoint) add(c *connection) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ending {
		e.connections[c.id] = c
	}
	return !e.ending
}

func (e *Endpoint) remove(c *connection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.connections, c.id)
}

func (e *Endpoint) find(id string) *connection {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.connections[id]
}

// all prevents further connections, and returns the present ones.
func (e *Endpoint) all() []*connection {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ending = true
	return slices.Collect(maps.Values(e.connections))
}

// Close ends all streams and their requests at once, without waiting for them. Later requests are
// refused with 503.
func (e *Endpoint) Close() {
	for _, c := range e.all() {
		c.cancel()
	}
}

// Shutdown refuses new connections and requests, waits for running requests, and then ends the
// streams. If ctx is done first, it ends them at once and returns the error of ctx. If ctx has no
// deadline, options.DrainTimeout applies.
//
// Call Shutdown before or concurrently with [http.Server.Shutdown], which waits for the streams
// that Shutdown ends.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.options.DrainTimeout)
		defer cancel()
	}
	var draining sync.WaitGroup
	for _, c := range e.all() {
		draining.Go(func() { c.drain(ctx) })
	}
	draining.Wait()
	return ctx.Err()
}

// A way describes how the messages of a connection travel, by the request for its stream.
type way struct {
	r  *http.Request
	id string
}

// TransportInfo implements [edge.Way].
func (w way) TransportInfo() mcp.TransportInfo { return httpedge.TransportInfo(w.r, w.id) }
