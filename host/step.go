package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// A Step is a request to the model before it is made; see [Options].BeforeStep.
type Step struct {
	// Run and Number count as in [Event].
	Run, Number int
	// Agent is the name of the sub-agent whose step it is; empty: of none.
	Agent string
	// Instructions stand in the system prompt behind the host's: those of
	// [Options].System and [Agent].Instructions, unless they are changed here.
	Instructions string
	// Tools are what the model can have. What is taken out can be neither called nor
	// found in this step, and what is put in counts for nothing: only [Options] and the
	// person give tools. The built-in ones, to search and to read, are not among them.
	Tools []ToolInfo
	// Messages are the conversation as the model sees it. They are not to be changed.
	Messages []model.Message
}

// A toolset is what the model has in the step that is made.
type toolset struct {
	catalogue *catalogue
	seen      uint64              // of the host's changes
	chosen    func(ToolInfo) bool // by the question; nil: all
	only      map[ToolRef]bool    // by the step hook; nil: all
	prefix    model.Request       // without its messages
	says      string              // the instructions among them
}

// prepareStep makes what the model is sent next, but for the messages, which can still become a
// summary. It is the same as before wherever nothing of it changed, so that the provider's
// cache hits.
func (r *run) prepareStep(ctx context.Context) error {
	instructions := r.c.instructions()
	if before := r.h.options.BeforeStep; before != nil {
		r.only = nil
		r.choose()
		all := make([]ToolInfo, len(r.catalogue.tools))
		for i, t := range r.catalogue.tools {
			all[i] = t.info(ToolSent)
		}
		s := Step{Run: r.number, Number: int(r.step.Load()), Agent: r.c.agent.Name, Instructions: instructions, Tools: all, Messages: r.c.view.Seen()}
		if err := before(ctx, &s); err != nil {
			return fmt.Errorf("before step %d: %w", s.Number, err)
		}
		instructions, r.only = s.Instructions, map[ToolRef]bool{}
		for _, t := range s.Tools {
			r.only[t.ToolRef] = true
		}
		r.choose()
	}
	r.says = instructions
	r.makePrefix()
	return nil
}

// makePrefix makes all of the request but its messages.
func (r *run) makePrefix() {
	tools := r.tools()
	r.prefix = model.Request{System: r.system(r.says), Tools: tools, CachedTools: len(tools)}
}

// choose makes the catalogue of all tools that the conversation may have now.
func (r *run) choose() {
	r.catalogue = r.c.catalogue()
	if r.chosen == nil && r.only == nil {
		return
	}
	r.catalogue = r.catalogue.only(func(t *tool) bool {
		return (r.only == nil || r.only[t.ref]) && (r.chosen == nil || r.chosen(t.info(ToolSent)))
	})
}

// only is the catalogue with some of its tools.
func (c *catalogue) only(keep func(*tool) bool) *catalogue {
	some := &catalogue{byName: map[string]*tool{}, byID: map[string]*tool{}, of: map[*server]int{}, off: c.off, all: c.all, skills: c.skills}
	for _, t := range c.tools {
		if keep(t) {
			some.tools = append(some.tools, t)
			some.byName[t.sent.Name], some.byID[t.id] = t, t
			some.tokens += t.tokens
			some.of[t.server]++
		}
	}
	some.servers = append(some.servers, c.servers...)
	for i := range some.servers {
		some.servers[i].Seen = 0
		for s, n := range some.of {
			if s.Name == some.servers[i].Server {
				some.servers[i].Seen = n
			}
		}
	}
	return some
}

// has reports whether what else a server offers is the conversation's to read: not where
// it is switched off, nor where tools were chosen, and none of the server's.
func (c *catalogue) has(s *server) bool { return !c.off[s.Name] && (c.of == nil || c.of[s] > 0) }

// instructions are what the program adds to the host's own.
func (c *Conversation) instructions() string {
	return strings.TrimSpace(c.host.options.System + "\n\n" + c.agent.Instructions)
}
