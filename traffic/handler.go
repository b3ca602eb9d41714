package traffic

import (
	"cmp"
	"context"
	"strconv"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/mcp"
)

// Handler returns a Handler that records the requests to next, a server in this process. For a
// connection, [Log.Server] does the same. No messages are sent to such a server, so they are
// generated in the modern form while there are watchers.
func (l *Log) Handler(name string, next mcp.Handler) mcp.Handler {
	return event.Tap(&hop{log: l, name: Server, server: name})(next)
}

// inProcess is the transport of generated messages.
const inProcess = "process"

// A call is one request to a Handler in this process.
type call struct {
	hop  *hop
	id   int64
	seen context.Context
}

// Begin implements [event.Sink].
func (h *hop) Begin(ctx context.Context, request event.Step) (context.Context, event.Call) {
	c := &call{hop: h, seen: ctx}
	c.id = c.NextID()
	c.seen = c.passes(request)
	return c.seen, c
}

// NextID implements [event.Call].
func (c *call) NextID() int64 { return c.hop.log.asked.Add(1) }

// Step implements [event.Call].
func (c *call) Step(_ context.Context, s event.Step) { c.passes(s) }

func (c *call) passes(s event.Step) context.Context {
	buffer := c.hop.log.buffer()
	defer c.hop.log.buffers.Put(buffer)
	*buffer = s.AppendMessage((*buffer)[:0], strconv.FormatInt(cmp.Or(s.ID, c.id), 10))
	return c.hop.Passes(c.seen, mcp.WireMessage{ToServer: s.ToServer, Message: *buffer, Transport: inProcess})
}
