package streamable

import (
	"context"
	"net/http"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// openEvents starts a response that is a stream of events; see [httpedge.OpenEvents].
func (x *exchange) openEvents(release func()) *httpedge.EventWriter {
	x.leave()
	o := &x.endpoint.options
	defer x.noteResponse(http.StatusOK)
	return httpedge.OpenEvents(x.w, x.r, httpedge.EventOptions{WriteTimeout: o.WriteTimeout, KeepAlive: o.KeepAlive, Buffers: &x.endpoint.buffers}, release)
}

// A directReply sends messages to a client that cannot resume: a modern client, or a legacy client
// without a session. The response becomes a stream with the first message that is not the response
// to the request.
type directReply struct {
	*exchange
	events *httpedge.EventWriter
	call   *call // cancelled when messages can no longer be sent; may be nil
}

// Send sends a message before the response. The edge makes one call at a time.
func (d *directReply) Send(_ context.Context, message []byte) error {
	if d.events == nil {
		d.events = d.openEvents(nil)
	}
	err := d.events.Write(context.Background(), eventstream.Event{Data: message})
	if err != nil && d.call != nil {
		d.endpoint.calls.Cancel(d.call, edge.ErrCancelled)
	}
	return err
}

// finish sends the response to the request, or an empty one if message is nil.
func (d *directReply) finish(status int, message []byte) {
	switch {
	case d.events == nil && message == nil:
		d.accepted()
	case d.events == nil:
		d.respond(status, message)
	case message != nil:
		d.events.Write(context.Background(), eventstream.Event{Data: message})
	}
}

// close ends the reply. It must be called when the reply is finished or given up.
func (d *directReply) close() {
	if d.events != nil {
		d.events.Close()
	}
}
