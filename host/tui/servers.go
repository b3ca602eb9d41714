package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// maxTrouble is how many lines tell why a server failed; /mcp has all of them.
const maxTrouble = 6

// look takes up how it stands with the servers now, and prints what a person should
// know of it: which of them failed, and which wait to be reviewed.
func (s *screen) look(now []host.ServerTools) {
	s.servers = now
	for i := range now {
		t := &now[i]
		reported := slices.Index(s.troubled, t.Server)
		switch {
		case t.State == host.StateFailed && reported < 0:
			s.troubled = append(s.troubled, t.Server)
			s.print(s.failed(t)...)
		case t.State != host.StateFailed && t.State != host.StateConnecting && reported >= 0: // connecting it may only be once more
			s.troubled = slices.Delete(s.troubled, reported, reported+1)
		}
	}
	if s.run != nil || slices.ContainsFunc(now, isConnecting) {
		return // a question brings the reviews by itself; of those that connect there may be more
	}
	defer s.suggest()
	var fresh []string
	for _, t := range now {
		if t.State == host.StateUnapproved && !t.Off && !slices.Contains(s.announced, t.Server) {
			fresh = append(fresh, t.Server)
		}
	}
	if len(fresh) == 0 {
		return
	}
	s.announced = append(s.announced, fresh...)
	text := "Needs review: " + strings.Join(fresh, ", ") + ". You will see what is new when you send your next question."
	s.print(ink.Indent(ink.Lines(ink.Plain, text, s.width-2), ink.Line{ink.T(ink.Warn, "? ", ink.Bold)}, ink.Of("  "))...)
}

// suggest prints a question to begin with, once, where none was asked yet.
func (s *screen) suggest() {
	if s.suggested || s.ui.options.Example == nil {
		return
	}
	s.suggested = true
	if len(s.session.Talk().Entries()) > 0 {
		return
	}
	if question := s.ui.options.Example(s.session.Talk().Tools()); question != "" {
		s.say(ink.Muted, "Try “"+question+"”.")
	}
}

func isConnecting(t host.ServerTools) bool { return t.State == host.StateConnecting }

// failed says why a server is not there.
func (s *screen) failed(t *host.ServerTools) []ink.Line {
	lines := ink.Lines(ink.Warn, t.Server+" failed: "+troubleOf(t), s.width-2)
	if len(lines) > maxTrouble {
		lines = append(lines[:maxTrouble-1:maxTrouble-1], ink.Line{ink.T(ink.Muted, "… (/mcp has it all)")})
	}
	return ink.Indent(lines, ink.Line{ink.T(ink.Bad, "✗ ", ink.Bold)}, ink.Of("  "))
}

// troubleOf is why a server is not there, and what can be done about it.
func troubleOf(t *host.ServerTools) string {
	why := strings.TrimPrefix(orElse(t.Error, "no reason is known"), fmt.Sprintf("server %q: ", t.Server))
	if t.Remedy != "" {
		why += "; " + t.Remedy
	}
	return why
}

// serverStatus is how many servers the model has, and what of them, and how it stands
// with the others. The program's own tools are none of a server that a person knows.
func (s *screen) serverStatus() ink.Span {
	states, seen, servers, off, refused := map[string]int{}, 0, 0, 0, 0
	for _, t := range s.servers {
		if t.Server == host.OwnServer {
			continue
		}
		if t.Off {
			off++
			continue
		}
		if states[t.State]++; t.State == host.StateUnapproved && slices.Contains(s.refused, t.Server) {
			refused++
		}
		seen += t.Seen
		servers++
	}
	text := fmt.Sprintf("%d/%d servers", states[host.StateConnected], servers)
	if s.width >= narrow || states[host.StateUnapproved]+states[host.StateFailed] == 0 {
		text += ", " + plural(seen, "tool", "tools")
	}
	if n := states[host.StateUnapproved] - refused; n > 0 {
		text += fmt.Sprintf(", %d to review", n)
	}
	if refused > 0 {
		text += fmt.Sprintf(", %d refused", refused)
	}
	if n := states[host.StateFailed]; n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	if off > 0 {
		text += fmt.Sprintf(", %d off", off)
	}
	role := ink.Muted
	if states[host.StateConnected] < servers {
		role = ink.Warn
	}
	return ink.T(role, text)
}

func serverLines(t *host.ServerTools, width int) []ink.Line {
	mark := map[string]ink.Span{
		host.StateConnected: ink.T(ink.Good, "● "), host.StateConnecting: ink.T(ink.Muted, "○ "),
		host.StateFailed: ink.T(ink.Bad, "✗ "), host.StateUnapproved: ink.T(ink.Warn, "? "),
	}[t.State]
	if mark.Text == "" {
		mark = ink.T(ink.Muted, "  ")
	}
	about := ink.T(ink.Muted, " "+t.State)
	if t.Off {
		mark, about.Text = ink.T(ink.Muted, "– "), " off, "+t.State
	}
	if t.Tools > 0 {
		about.Text += fmt.Sprintf(", %s, about %s tokens", plural(t.Tools, "tool", "tools"), count(t.Tokens))
	}
	if t.Trusted {
		about.Text += ", trusted"
	}
	lines := ink.Wrap(ink.Line{mark, ink.T(ink.Plain, t.Server, ink.Bold), about}, width)
	why := t.Error
	switch {
	case t.Remedy != "":
		why = troubleOf(t)
	case why == "" && t.Off:
		why = "off in this conversation: the model has nothing of it"
	case why == "" && t.State == host.StateUnapproved:
		why = "not approved yet: what is new is shown with your next question, what was refused or disabled after /review " + t.Server
	case why == "" && t.Seen < t.Tools:
		why = fmt.Sprintf("the model cannot use %d of them: denied by a rule, disabled or not approved (/tools says which)", t.Tools-t.Seen)
	}
	if why != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Warn, why, width-2), ink.Of("  "), ink.Of("  "))...)
	}
	return lines
}

// reviewAgain has what of a server was refused, or set aside, shown once more.
func (s *screen) reviewAgain(server string) {
	if server == "" {
		var names []string
		for _, t := range s.session.Talk().Servers() {
			if t.Seen < t.Tools || t.State == host.StateUnapproved {
				names = append(names, t.Server)
			}
		}
		s.hint = "expected /review SERVER"
		if len(names) > 0 {
			s.hint += ", such as " + oneLine(strings.Join(names, ", "), 200)
		}
		return
	}
	if err := s.session.Talk().ReviewAgain(server); err != nil {
		s.say(ink.Bad, "error: "+err.Error())
		return
	}
	s.refused = slices.DeleteFunc(slices.Clone(s.refused), func(name string) bool { return name == server })
	when := "with your next question"
	if s.run != nil {
		when = "before the model's next step"
	}
	s.say(ink.Muted, "You will see what "+server+" defines "+when)
}
