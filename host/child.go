package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host/internal/consent"
)

// An Agent is whom a child conversation is with.
type Agent struct {
	// Name is shown to the person on cards and in events; required.
	Name string
	// Instructions are added to [Options].System.
	Instructions string
	// Limits end each of its runs, in addition to those of the run that it belongs to, which
	// count what it uses as well.
	Limits Limits
}

// Child returns a new conversation within the call of one of [Options].Tools that ctx belongs to: a
// sub-agent. It and the conversation in which the tool is called are one as far as safety
// goes. What either has read counts for both, and so does each yes and each rule of the
// person, who reads on cards that a sub-agent asks. What it uses counts for the run that it
// belongs to, and that run's limits end it. It ends with the call, whatever context it is
// asked with. It knows nothing of what was said before. A tool that has one is not labelled by
// its annotations: where the sub-agent's words come from was noted while it read.
func Child(ctx context.Context, a Agent) (*Conversation, error) {
	call, err := ownCall(ctx)
	if err != nil {
		return nil, fmt.Errorf("host: a child conversation: %w", err)
	}
	if a.Name == "" {
		return nil, errors.New("host: a child conversation: Agent.Name is missing: cards say who asks")
	}
	call.labelled.Store(true) // where its answer comes from is noted while it reads
	c := call.run.h.newConversation(call.run.c.shared, nil)
	c.agent, c.within, c.ends = a, call, ctx
	return c, nil
}

// shared is what a conversation and its children have in common.
type shared struct {
	decider *consent.Decider

	mu      sync.Mutex        // of what follows, and of each conversation's own
	sampled map[string]int    // tokens that servers used of the model
	reviews map[string]int    // of what servers changed
	off     map[string]bool   // servers that the person switched off; it is replaced as a whole
	queries map[string]string // until the program ends, by tool: the query that found it
}

// parent is the run to whose call this one belongs; nil if to none.
func (r *run) parent() *run {
	if r.c.within == nil {
		return nil
	}
	return r.c.within.run
}

// within are the tools of a question that its parent can have, too.
func (r *run) within(chosen func(ToolInfo) bool) func(ToolInfo) bool {
	parent := r.parent()
	if parent == nil || parent.chosen == nil {
		return chosen
	}
	return func(t ToolInfo) bool { return parent.chosen(t) && (chosen == nil || chosen(t)) }
}

// bound is ctx, which ends with the call at the latest.
func (c *Conversation) bound(ctx context.Context) (context.Context, func(), error) {
	if c.within == nil {
		return ctx, func() {}, nil
	}
	if c.within.over.Load() {
		return nil, nil, fmt.Errorf("sub-agent %q: the call of %s that it belongs to is over", c.agent.Name, c.within.toolName())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ends, func() { cancel(context.Cause(c.ends)) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// ChildEvent is an event of a child conversation.
type ChildEvent struct {
	// CallID is the call that it belongs to, and Agent the name of the [Agent].
	CallID string `json:"callId"`
	Agent  string `json:"agent"`
	Event  Event  `json:"event"`
}

// tell tells an event; that of a child within one of its parent, so that whoever follows
// the parent does not take one for the other.
func (r *run) tell(e Event) {
	e.Run, e.Step = r.number, int(r.step.Load())
	parent := r.parent()
	if parent == nil {
		r.h.tell(e)
		return
	}
	e.At = time.Now()
	parent.tell(Event{Child: &ChildEvent{CallID: r.c.within.id, Agent: r.c.agent.Name, Event: e}})
}
