package upstream

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// oddities maps the forms that [jsonrpc.ParseLoose] accepts to their tolerances.
var oddities = []struct {
	odd  jsonrpc.Odd
	name tolerance.Tolerance
}{
	{jsonrpc.OddMark, tolerance.ByteOrderMark},
	{jsonrpc.OddSurrogate, tolerance.HalfSurrogate},
	{jsonrpc.OddBytes, tolerance.NotUTF8},
	{jsonrpc.OddControl, tolerance.ControlCharacter},
	{jsonrpc.OddNaN, tolerance.NotANumber},
	{jsonrpc.OddNull, tolerance.NullMember},
	{jsonrpc.OddVersion, tolerance.VersionNumber},
	{jsonrpc.OddNumber, tolerance.WholeNumberID},
	{jsonrpc.OddParams, tolerance.MemberForm},
	{jsonrpc.OddError, tolerance.ErrorForm},
	{jsonrpc.OddID, tolerance.OtherID},
}

// met records that a tolerance was needed for a message of the server.
func (c *conn) met(ctx context.Context, t tolerance.Tolerance, where string) {
	t.Met(ctx, c.log, c.options.Name, where)
}

// metOdd records the non-standard forms of a message, only once.
func (c *conn) metOdd(ctx context.Context, m *jsonrpc.Message, method string) {
	for _, o := range oddities {
		if m.Odd&o.odd != 0 {
			c.met(ctx, o.name, method)
		}
	}
	m.Odd = 0
}

func (c *conn) metAll(ctx context.Context, method string, found []loose.Found) {
	for i := range found {
		c.met(ctx, found[i].Tolerance, method+": "+found[i].String())
	}
}

// readResponse converts the result in a response to the types of schema.ts, as far as possible.
func (c *conn) readResponse(ctx context.Context, out *link.Out, m *jsonrpc.Message) {
	if m.Odd != 0 {
		c.metOdd(ctx, m, out.Method)
	}
	if len(m.Result) == 0 {
		return
	}
	if m.Result[0] != '{' || !loose.Fits(out.Method, &m.Members) {
		uri, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(out.Message, "params"), "uri"))
		mended, found := loose.Mend(out.Method, uri, m.Result)
		c.metAll(ctx, out.Method, found)
		m.Result, m.Members = mended, index(mended)
	}
	if isList(out.Method) && string(m.Members.Get("nextCursor")) == `""` {
		if s := c.session.Load(); s != nil && !s.revision.Modern { // in legacy revisions, an empty cursor is a cursor
			c.met(ctx, tolerance.EmptyCursor, out.Method)
			m.Result = jsonrpc.Without(m.Result, "nextCursor")
			m.Members = index(m.Result)
		}
	}
}

// read is like readResponse, for other messages. It reports false if the message is unusable.
// Reading a message a second time costs almost nothing.
func (c *conn) read(ctx context.Context, m *jsonrpc.Message) bool {
	if m.Odd != 0 {
		c.metOdd(ctx, m, m.Method)
	}
	if loose.FitsParams(m.Method, m.Params) {
		return true
	}
	mended, found, ok := loose.MendParams(m.Method, m.Params)
	switch {
	case ok:
		c.metAll(ctx, m.Method, found)
		m.Params, m.Members = mended, index(mended)
	case m.Kind == jsonrpc.Notification:
		c.met(ctx, tolerance.MessageLeftOut, m.Method)
	default: // the client refuses it
		return true
	}
	return ok
}

// index returns the members of a repaired object, which is valid.
func index(object json.RawMessage) jsonrpc.Members {
	members, fault := jsonrpc.Index(object, jsonrpc.Limits{})
	if fault != nil {
		return jsonrpc.Members{}
	}
	return members
}
