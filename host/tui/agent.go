package tui

import (
	"fmt"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// agentRows is how many calls of a sub-agent are shown below its own.
const agentRows = 6

// child shows what a sub-agent does, below the call that it belongs to.
func (s *screen) child(outer *call, in *host.ChildEvent) {
	e := &in.Event
	switch {
	case e.Notice != nil:
		s.agentNotice(in.Agent, *e.Notice)
	case e.Log != nil, e.Reviewed != nil:
		s.happened(e)
	case e.ServerRequest != nil:
		s.serverRequested(e.ServerRequest)
	case outer == nil: // it is over
	case e.Child != nil:
		s.child(outer.open(e.Child.CallID), e.Child)
	default:
		s.finished(outer.track(s, in.Agent, e))
	}
}

// agentNotice prints a notice about a sub-agent.
func (s *screen) agentNotice(agent string, n host.Notice) {
	switch n.Kind {
	case host.NoticeRetry, host.NoticeOffline: // of these, the run's own are enough
		return
	case host.NoticeStop, host.NoticeLimit, host.NoticeLoop:
		n.Text = fmt.Sprintf("sub-agent %s: %s", oneLine(agent, 60), n.Text)
	}
	s.notice(&n)
}

// open is the call within this one that has this id and is not over; ids may repeat.
func (c *call) open(id string) *call {
	for _, in := range c.inner {
		if in.CallID == id && !in.isOver() {
			return in
		}
	}
	return nil
}

// begin is open, or a new call.
func (c *call) begin(agent string, called host.Called) *call {
	c.agent = agent
	if in := c.open(called.CallID); in != nil {
		return in
	}
	in := &call{Called: called, by: agent}
	c.inner = append(c.inner, in)
	if extra := len(c.inner) - maxPast; extra > 0 {
		c.inner, c.omitted = c.inner[extra:], c.omitted+extra
	}
	return in
}

// steps are the calls of the sub-agent, the last ones if there are many.
func (c *call) steps(s *screen, width, rows int) []ink.Line {
	from := max(0, len(c.inner)-rows)
	var lines []ink.Line
	if n := c.omitted + from; n > 0 {
		lines = append(lines, ink.Line{ink.T(ink.Muted, fmt.Sprintf("… %s (%s shows them)", plural(n, "earlier call", "earlier calls"), s.more()))})
	}
	for _, in := range c.inner[from:] {
		lines = append(lines, in.step(s, width-4))
		lines = append(lines, in.steps(s, width-4, rows)...)
	}
	margin := ink.Line{ink.T(ink.Muted, "  │ ")}
	return ink.Indent(lines, margin, margin)
}

// step is a call of a sub-agent on one line.
func (c *call) step(s *screen, width int) ink.Line {
	switch {
	case c.refused != "":
		return c.head(ink.T(ink.Bad, "✗ "), "did not run; "+c.refused, width)
	case c.result != nil && c.result.IsError:
		return c.head(ink.T(ink.Bad, "✗ "), c.lasted(), width)
	case c.result != nil:
		return c.head(ink.T(ink.Good, "✓ "), c.lasted(), width)
	case c.began.IsZero():
		return c.head(ink.T(ink.Muted, "○ "), "waits", width)
	}
	return c.head(ink.T(ink.Accent, "● "), seconds(s.now().Sub(c.began)), width)
}
