package trace

import (
	"time"

	"github.com/junction-mcp/junction/host"
)

// A scope is the run, or a sub-agent in it.
type scope struct {
	agent string // its name; empty: of the run itself
	call  string // that it carries out
	depth int
	asked bool // the model was asked
}

// id makes the id of a call one of the whole run: those of sub-agents may repeat.
func (s *scope) id(call string) string {
	if s.call == "" || call == "" {
		return call
	}
	return s.call + "/" + call
}

func (s *scope) prefix() string {
	if s.agent == "" {
		return ""
	}
	return s.agent + ": "
}

// place notes whose item this is, unless that is known.
func (t *Trace) place(i *item) {
	if i.scope == nil {
		i.scope = t.at
	}
}

// child records what a sub-agent does as part of the call that it carries out.
func (t *Trace) child(at time.Time, c *host.ChildEvent) {
	outer := t.at
	defer func() { t.at = outer }()
	t.at = t.agent(outer, c)
	e := c.Event
	if e.At.IsZero() {
		e.At = at
	}
	t.event(e)
}

// agent finds or makes the scope of a sub-agent.
func (t *Trace) agent(outer *scope, c *host.ChildEvent) *scope {
	call := outer.id(c.CallID)
	key := call + "\x00" + c.Agent // a call can have several
	found := t.agents[key]
	if found == nil {
		found = &scope{agent: detail(oneLine(c.Agent)), call: call, depth: outer.depth + 1}
		if len(t.agents) < maxOpen {
			t.agents[key] = found
		}
	}
	return found
}
