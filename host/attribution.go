package host

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// A calling is one call of a tool, or the reading of a resource or a prompt, while
// it runs: what questions, progress and log messages of a server belong to.
type calling struct {
	run    *run // nil outside of a run
	id     string
	server *server
	tool   *tool // nil for resources and prompts

	serverRequests atomic.Int32 // that came in the middle of it
	over           atomic.Bool
	labelled       atomic.Bool // a tool of the program's own has said where its result comes from

	leave  context.CancelCauseFunc // ends it
	task   *pendingTask            // that it became; nil: none
	taskOf *Conversation           // whose task it is, where run is nil
}

// maxServerRequests is how many requests a server may send in the middle of one call.
const maxServerRequests = 64

type callKey struct{}

func withCall(ctx context.Context, c *calling) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callFrom(ctx context.Context) *calling {
	c, _ := ctx.Value(callKey{}).(*calling)
	return c
}

// CallID is the id of the model's call that ctx belongs to, as events have it, behind those of the calls that
// sub-agents carry out in which it is made: OUTER/INNER. It is empty outside of a call.
func CallID(ctx context.Context) string { return callFrom(ctx).path() }

func (c *calling) path() string {
	switch {
	case c == nil:
		return ""
	case c.run != nil && c.run.c.within != nil:
		return c.run.c.within.path() + "/" + c.id
	}
	return c.id
}

// attribute gives every request a Peer that knows the call: the requests of a
// legacy server come with no context of their own.
func attribute(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if c := callFrom(ctx); c != nil && req.Peer != nil {
			copied := *req
			copied.Peer = attributed{req.Peer, c}
			req = &copied
			c.over.Store(false) // a call can take several rounds
			defer c.over.Store(true)
		}
		return next.Handle(ctx, req)
	})
}

type attributed struct {
	mcp.Peer
	call *calling
}

// Unwrap is for [mcp.PeerAs].
func (p attributed) Unwrap() mcp.Peer { return p.Peer }

// Ask puts the question with the call it belongs to, while that runs.
func (p attributed) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if p.call.over.Load() {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "server %q asked after the end of the call", p.call.server.Name)
	}
	if p.call.serverRequests.Add(1) > maxServerRequests {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "server %q sent more than %d requests in one call", p.call.server.Name, maxServerRequests)
	}
	return p.Peer.Ask(withCall(ctx, p.call), q)
}

// Notify hears log messages and passes everything on.
func (p attributed) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/message" {
		var m mcp.LogMessage
		if schema.DecodeLoose(params, &m) == nil {
			p.call.server.tell(p.call, Event{Log: &Logged{Server: p.call.server.Name, Level: m.Level, Logger: clipped(readable(m.Logger), maxLogger), Data: logged(m.Data)}})
		}
	}
	return p.Peer.Notify(ctx, method, params)
}
