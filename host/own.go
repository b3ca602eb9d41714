package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/guard"
)

// Labels returns the labels of everything that the conversation has read that calls a tool of
// [Options].Tools with ctx. With another context, it returns all labels, because nothing is known.
func Labels(ctx context.Context) guard.Labels {
	if c, err := ownCall(ctx); err == nil {
		return c.run.c.decider.Labels()
	}
	return guard.Private | guard.Untrusted
}

// Read records the source of the text that a tool of [Options].Tools returns. ctx must be the
// context of the tool's call. For example, a note taken while the conversation had read untrusted
// text is still untrusted. After Read, the tool's annotations do not determine the labels of its
// result. A source without an origin belongs to no server, whatever its name is.
func Read(ctx context.Context, from guard.Source, labels guard.Labels, text string) error {
	c, err := ownCall(ctx)
	if err != nil {
		return err
	}
	c.labelled.Store(true)
	if labels != 0 {
		c.run.c.decider.Read(from, labels, text)
	}
	noteResult(ctx, from, labels)
	return nil
}

var errNotOwn = errors.New("the context does not belong to a call of a tool of Options.Tools; pass on the context of that call")

// ownCall returns the call of one of [Options].Tools to which ctx belongs.
func ownCall(ctx context.Context) (*calling, error) {
	c := callFrom(ctx)
	if c == nil || c.run == nil || c.server.Name != OwnServer {
		return nil, errNotOwn
	}
	if c.over.Load() {
		return nil, fmt.Errorf("the call of %s is over", c.toolName())
	}
	return c, nil
}

// Child returns a new conversation for a sub-agent. ctx must be the context of a call of one of
// [Options].Tools. For safety, the child and the calling conversation count as one. Texts that
// either has read count for both, and so do the user's approvals and rules. Cards name the
// sub-agent. Its use of resources counts for the parent's run, whose limits also end the child. The
// child ends with the call, whatever context its own methods get. It starts without messages. The
// annotations of a tool with a child do not determine the labels of its result, because the sources
// were recorded while the sub-agent read them.
func Child(ctx context.Context, a Agent) (*Conversation, error) {
	call, err := ownCall(ctx)
	if err != nil {
		return nil, fmt.Errorf("host: a child conversation: %w", err)
	}
	if a.Name == "" {
		return nil, errors.New("host: a child conversation: Agent.Name is missing: cards show it")
	}
	call.labelled.Store(true) // the sub-agent's reads are labelled one by one
	c := call.run.h.newConversation(call.run.c.shared, nil)
	c.agent, c.within, c.ends = a, call, ctx
	return c, nil
}

// CallID returns the id of the model's call that ctx belongs to, as in events. In a sub-agent it is
// OUTER/INNER, with the ids of the calls around it. Outside of a call it is "".
func CallID(ctx context.Context) string { return callFrom(ctx).path() }
