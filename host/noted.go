package host

import (
	"context"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// maxNoted is how many sources a note names.
const maxNoted = 50

// noter is who hears of what is asked of a server; nil: nobody.
func (r *run) noter(s *server, method, name string) mcp.Noter {
	if r.h.options.Noter == nil {
		return nil
	}
	return r.h.options.Noter(s.Name, method, name)
}

// hearing returns a context in which n hears of what is done with it.
func hearing(ctx context.Context, n mcp.Noter) context.Context {
	if n == nil {
		return ctx
	}
	return mcp.WithNoter(ctx, n)
}

// A notedFlow is what one who watches hears of the labels of a call: of what the conversation had read before it, or of what
// it brought.
type notedFlow struct {
	Of      string       `json:"of"` // call or result
	Labels  guard.Labels `json:"labels"`
	Sources []string     `json:"sources,omitempty"` // of text with these labels
	More    int          `json:"more,omitempty"`    // sources that are not named
}

// noteFlow says what a call could carry to a server.
func (r *run) noteFlow(ctx context.Context) {
	n := mcp.NoterOf(ctx, note.Labels)
	if n == nil {
		return
	}
	flow := notedFlow{Of: "call", Labels: r.c.decider.Labels()}
	sources := r.c.decider.Sources(flow.Labels)
	flow.More = max(0, len(sources)-maxNoted)
	for _, s := range sources[:len(sources)-flow.More] {
		flow.Sources = append(flow.Sources, s.String())
	}
	n.Note(note.Labels, flow)
}

// noteResult says how a text is labelled that a call brought.
func noteResult(ctx context.Context, from guard.Source, labels guard.Labels) {
	if n := mcp.NoterOf(ctx, note.Labels); n != nil {
		n.Note(note.Labels, notedFlow{Of: "result", Labels: labels, Sources: []string{from.String()}})
	}
}

// noteDecision says what was decided about a call, and by whom.
func noteDecision(ctx context.Context, said policy.Decision, event *Consented) {
	n := mcp.NoterOf(ctx, note.Policy)
	if n == nil {
		return
	}
	effect := policy.Deny
	if event.Allowed {
		effect = policy.Allow
	}
	n.Note(note.Policy, struct {
		Server string        `json:"server"`
		Effect policy.Effect `json:"effect"`
		Said   policy.Effect `json:"said"`
		Rule   string        `json:"rule"`
		Reason string        `json:"reason"`
		By     string        `json:"by"`
	}{event.Server, effect, said.Effect, said.Rule.String(), event.Reason, event.By})
}
