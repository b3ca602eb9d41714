package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxTrouble is the number of lines about a failed server. /mcp shows all of them.
const maxTrouble = 6

// look updates the states of the servers, and prints which of them failed and which need a review.
func (s *screen) look(now []host.ServerTools) {
	s.servers = now
	for i := range now {
		t := &now[i]
		reported := slices.Index(s.troubled, t.Server)
		switch {
		case t.State == host.StateFailed && reported < 0:
			s.troubled = append(s.troubled, t.Server)
			s.print(s.failed(t)...)
		case t.State != host.StateFailed && t.State != host.StateConnecting && reported >= 0: // a failed server that reconnects may fail again
			s.troubled = slices.Delete(s.troubled, reported, reported+1)
		}
	}
	if s.run != nil || slices.ContainsFunc(now, isConnecting) {
		return // a question starts the reviews anyway, and connecting servers may need more
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

// suggest prints an example question, once, in a conversation without questions.
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

// failed returns lines about a failed server.
func (s *screen) failed(t *host.ServerTools) []ink.Line {
	lines := ink.Lines(ink.Warn, t.Server+" failed: "+serverFailure(t), s.width-2)
	if len(lines) > maxTrouble {
		lines = append(lines[:maxTrouble-1:maxTrouble-1], ink.Line{ink.T(ink.Muted, "… (/mcp has it all)")})
	}
	return ink.Indent(lines, ink.Line{ink.T(ink.Bad, "✗ ", ink.Bold)}, ink.Of("  "))
}

// serverFailure returns the reason why a server failed, and the remedy.
func serverFailure(t *host.ServerTools) string {
	why := strings.TrimPrefix(orElse(t.Error, "the reason is not known"), fmt.Sprintf("server %q: ", t.Server))
	if t.Remedy != "" {
		why += "; " + t.Remedy
	}
	return why
}

// serverStatus returns the number of connected servers and of their tools, and the states of the
// others. It does not count the program's own server.
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
		why = serverFailure(t)
	case why == "" && t.Off:
		why = "off in this conversation: the model cannot use it"
	case why == "" && t.State == host.StateUnapproved:
		why = "not approved yet: your next question shows the new definitions, and /review " + t.Server + " shows the refused and disabled ones"
	case why == "" && t.Seen < t.Tools:
		why = fmt.Sprintf("the model cannot use %d of them: denied by a rule, disabled or not approved (/tools lists them)", t.Tools-t.Seen)
	}
	if why != "" {
		lines = append(lines, ink.Indent(ink.Lines(ink.Warn, why, width-2), ink.Of("  "), ink.Of("  "))...)
	}
	return lines
}

// reviewAgain shows the refused and set-aside definitions of a server again.
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
			s.hint += ", such as " + plaintext.Line(strings.Join(names, ", "), 200)
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
	s.say(ink.Muted, "You will see the definitions of "+server+" "+when)
}

// serverVerbs returns the verbs of /mcp.
func serverVerbs() []string { return []string{"tools", "restart", "off", "on", "trust", "log"} }

// mcpPanel lists all servers. Its keys are the verbs of /mcp.
func mcpPanel() *roster {
	r := &roster{title: "servers", none: "no server is configured", keys: []string{"Enter tools", "r restart", "o on/off", "t trust", "l log"}}
	r.rows = func(s *screen, width int) (rows [][]ink.Line) {
		for _, t := range s.session.Talk().Servers() {
			rows = append(rows, serverLines(&t, width))
		}
		return rows
	}
	r.act = func(s *screen, key string, at int) {
		verb := map[string]string{"enter": "tools", "r": "restart", "o": "off", "t": "trust", "l": "log"}[key]
		all := s.session.Talk().Servers()
		if verb == "" || at >= len(all) {
			return
		}
		if verb == "off" && all[at].Off {
			verb = "on"
		}
		s.toServer(verb, &all[at], r)
	}
	return r
}

// mcp lists the servers, or applies a verb to one of them.
func (s *screen) mcp(argument string) {
	verb, name, _ := strings.Cut(argument, " ")
	name = strings.TrimSpace(name)
	all := s.session.Talk().Servers()
	i := slices.IndexFunc(all, func(t host.ServerTools) bool { return t.Server == name })
	switch {
	case argument == "":
		s.panel = mcpPanel()
	case !slices.Contains(serverVerbs(), verb) || name == "":
		s.hint = "expected /mcp VERB SERVER with one of " + strings.Join(serverVerbs(), ", ")
	case i < 0:
		s.hint = fmt.Sprintf("there is no server %q; /mcp lists them. To use a server that was configured since the start, restart with --resume", plaintext.Line(name, 40))
	default:
		s.toServer(verb, &all[i], nil)
	}
}

// toServer applies a verb to a server. back is the panel to show afterwards.
func (s *screen) toServer(verb string, t *host.ServerTools, back panel) {
	name := t.Server
	switch verb {
	case "tools":
		p := toolsPager("tools of "+name, func(t *host.ToolInfo) bool { return orElse(t.Via, t.Server) == name })
		p.back, s.panel = back, p
	case "log":
		s.panel = serverLog(name, back)
	case "restart":
		s.troubled = slices.DeleteFunc(s.troubled, func(server string) bool { return server == name }) // a new failure must be printed
		s.change(func(context.Context) (string, error) { return name + " is being restarted", s.session.Restart(name) })
	case "off":
		s.change(func(context.Context) (string, error) {
			return name + " is off in this conversation: the model has none of its tools", s.session.Talk().SetOff(name, true)
		})
	case "on":
		s.change(func(context.Context) (string, error) { return name + " is on", s.session.Talk().SetOff(name, false) })
	case "trust":
		if name == host.OwnServer {
			s.hint = "the tools of " + name + " are part of junction, and trusted"
			return
		}
		if t.Trusted {
			s.hint = name + " is trusted; /permissions undoes it"
			return
		}
		p := &picker{title: "trust " + name + ": its definitions are not reviewed, and its annotations are taken as true",
			items: []item{{label: "until junction chat ends"}, {label: "permanently", detail: "with its present command"}}}
		p.chosen = func(s *screen, i int) {
			s.panel = back
			s.change(func(context.Context) (string, error) {
				return name + " is trusted " + p.items[i].label, s.session.Talk().Trust(name, i == 1)
			})
		}
		s.panel = p
	}
}

// change runs f in the background and prints its result. If a panel hides the scrollback, the
// result is also shown as a hint.
func (s *screen) change(f func(ctx context.Context) (done string, err error)) {
	s.later(func(ctx context.Context) func(*screen) {
		text, err := f(ctx)
		return func(s *screen) {
			role := ink.Muted
			if err != nil {
				role, text = ink.Bad, "error: "+err.Error()
			}
			s.say(role, text)
			if s.panel != nil {
				s.hint = text
			}
			s.used = s.session.Talk().WindowUse()
			s.look(s.session.Talk().Servers())
		}
	})
}

// serverLog shows a server's standard error, its log messages, and the reason why it failed.
func serverLog(name string, back panel) *pager {
	return &pager{title: "log of " + name, end: true, back: back, build: func(s *screen, width int) []ink.Line {
		var lines []ink.Line
		for _, text := range s.session.Stderr(name) {
			lines = append(lines, ink.Lines(ink.Plain, text, width)...)
		}
		for i := range s.log {
			if s.log[i].Server == name {
				lines = append(lines, ink.Wrap(s.log[i].line(), width)...)
			}
		}
		for _, t := range s.session.Talk().Servers() {
			if t.Server == name && t.Error != "" {
				lines = append(lines, ink.Lines(ink.Bad, serverFailure(&t), width)...)
			}
		}
		if len(lines) == 0 {
			lines = ink.Lines(ink.Muted, name+" wrote nothing to its standard error, and logged nothing", width)
		}
		return lines
	}}
}

// Models lists the models and their levels of effort. Its methods are called from several
// goroutines.
type Models interface {
	// List returns the available models, those of the current provider first. An error may come
	// with a partial list, and names the provider that did not answer.
	List(ctx context.Context) ([]ModelChoice, error)
	// Choose switches to another model from the next question on.
	Choose(name string) error
	// Efforts returns the levels of effort of the model, and the current one. levels is empty if
	// the model has none.
	Efforts() (levels []string, current string)
	// SetEffort sets the level from the next question on.
	SetEffort(level string) error
}

// A ModelChoice is an available model.
type ModelChoice struct {
	Name    string // name for Choose
	About   string
	Current bool
}

// model lists the models, or switches to one.
func (s *screen) model(name string) {
	models := s.ui.options.Models
	switch {
	case models == nil && name == "":
		s.say(ink.Plain, s.aboutModel())
	case models == nil:
		s.hint = "the model cannot be switched here; start with --model " + plaintext.Line(name, 100)
	case name != "":
		s.chooseModel(name)
	default:
		s.hint = "listing the models…"
		s.later(func(ctx context.Context) func(*screen) {
			list, err := models.List(ctx)
			return func(s *screen) {
				s.hint = ""
				if err != nil {
					s.say(ink.Warn, err.Error())
				}
				if len(list) == 0 {
					s.say(ink.Plain, s.aboutModel()+". For another one: /model PROVIDER:NAME")
					return
				}
				p := &picker{title: "model: " + s.aboutModel(), chosen: func(s *screen, i int) { s.chooseModel(list[i].Name) }}
				for i, m := range list {
					about := m.About
					if m.Current {
						about, p.selected = strings.TrimSpace("this one "+about), i
					}
					p.items = append(p.items, item{label: m.Name, detail: about})
				}
				s.panel = p
			}
		})
	}
}

// chooseModel switches to a model.
func (s *screen) chooseModel(name string) {
	if s.run != nil { // another answer may have begun before the user chose
		s.hint = "the answer is still coming; Esc interrupts it"
		return
	}
	if err := s.ui.options.Models.Choose(name); err != nil {
		s.say(ink.Bad, "error: "+err.Error())
		return
	}
	text := "Now answering: " + s.aboutModel() + "."
	window, planned := s.session.Model().Window, s.used.Window
	switch {
	case window > planned && planned > 0:
		text += fmt.Sprintf(" This session still uses %s tokens of its context; start with --model to use all of it.", count(planned))
	case window > 0 && window < planned:
		text += fmt.Sprintf(" Its context is smaller than the %s tokens of this session: if it refuses them, old turns are summarized.", count(planned))
	}
	s.say(ink.Muted, text)
}

// effort shows or sets the model's level of effort.
func (s *screen) effort(level string) {
	var levels []string
	var current string
	if s.ui.options.Models != nil {
		levels, current = s.ui.options.Models.Efforts()
	}
	switch {
	case len(levels) == 0:
		s.hint = plaintext.Line(s.session.Model().Name, 40) + " has no levels of effort that junction knows"
	case level != "" && !slices.Contains(levels, level):
		s.hint = "expected /effort with one of " + strings.Join(levels, ", ")
	case level != "":
		s.setEffort(level)
	default:
		p := &picker{title: "effort", chosen: func(s *screen, i int) { s.setEffort(levels[i]) }, selected: max(0, slices.Index(levels, current))}
		for _, l := range levels {
			it := item{label: l}
			if l == current {
				it.detail = "this one"
			}
			p.items = append(p.items, it)
		}
		s.panel = p
	}
}

func (s *screen) setEffort(level string) {
	if err := s.ui.options.Models.SetEffort(level); err != nil {
		s.say(ink.Bad, "error: "+err.Error())
		return
	}
	s.say(ink.Muted, "From the next question on, the model uses this effort: "+level)
}

// aboutModel describes the current model.
func (s *screen) aboutModel() string {
	m := s.session.Model()
	text := fmt.Sprintf("%s at %s", m.Name, m.Provider)
	if !m.Language {
		text += "; it is not a language model"
	}
	if m.Window > 0 {
		text += fmt.Sprintf(", %s-token context", count(m.Window))
	}
	if m.Price.Output > 0 {
		text += fmt.Sprintf("; a million tokens cost $%g in, $%g out", m.Price.Input, m.Price.Output)
	}
	if s.ui.options.Models != nil {
		if levels, current := s.ui.options.Models.Efforts(); len(levels) > 0 {
			text += "; effort: " + current
		}
	}
	return text
}
