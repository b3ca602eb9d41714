package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/guard"
)

// Labels returns what the conversation has read in which the tool of [Options].Tools is called
// that ctx belongs to. Elsewhere they are all there are, as nothing is known then.
func Labels(ctx context.Context) guard.Labels {
	if c, err := ownCall(ctx); err == nil {
		return c.run.c.decider.Labels()
	}
	return guard.Private | guard.Untrusted
}

// Read notes, for the tool of [Options].Tools that ctx belongs to, from where the text is that it returns: a note that
// was taken while a stranger's page was read is a stranger's text still. A tool that says so is not labelled by its
// annotations. A source without an origin is that of no server, whatever its name is.
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

// ownCall returns the call of an own tool that runs with this context.
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

// Child returns a new conversation within the call of one of [Options].Tools that ctx belongs to: a sub-agent. It and
// the conversation in which the tool is called are one as far as safety goes. What either has read counts for both, and
// so does each yes and each rule of the user, who reads on cards that a sub-agent asks. What it uses counts for the
// run that it belongs to, and that run's limits end it. It ends with the call, whatever context it is asked with. It
// knows nothing of what was said before. A tool that has one is not labelled by its annotations: where the sub-agent's
// words come from was noted while it read.
func Child(ctx context.Context, a Agent) (*Conversation, error) {
	call, err := ownCall(ctx)
	if err != nil {
		return nil, fmt.Errorf("host: a child conversation: %w", err)
	}
	if a.Name == "" {
		return nil, errors.New("host: a child conversation: Agent.Name is missing: cards show it")
	}
	call.labelled.Store(true) // where its answer comes from is noted while it reads
	c := call.run.h.newConversation(call.run.c.shared, nil)
	c.agent, c.within, c.ends = a, call, ctx
	return c, nil
}

// CallID returns the id of the model's call that ctx belongs to, as events have it, behind those of the calls that
// sub-agents carry out in which it is made: OUTER/INNER. It is empty outside of a call.
func CallID(ctx context.Context) string { return callFrom(ctx).path() }
