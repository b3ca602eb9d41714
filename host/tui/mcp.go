package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// serverVerbs are what can be done with a server, as /mcp takes it.
func serverVerbs() []string { return []string{"tools", "restart", "off", "on", "trust", "log"} }

// mcpPanel shows all servers. Its keys do what the verbs behind /mcp do.
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

// mcp shows the servers, or does something with one of them.
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
		s.hint = fmt.Sprintf("there is no server %q; /mcp lists them. What the configuration got since the start is there after a new one, with --resume", oneLine(name, 40))
	default:
		s.toServer(verb, &all[i], nil)
	}
}

// toServer does something with a server; back is what is shown again afterwards.
func (s *screen) toServer(verb string, t *host.ServerTools, back panel) {
	name := t.Server
	switch verb {
	case "tools":
		p := toolsPager("tools of "+name, func(t *host.ToolInfo) bool { return orElse(t.Via, t.Server) == name })
		p.back, s.panel = back, p
	case "log":
		s.panel = serverLog(name, back)
	case "restart":
		s.troubled = slices.DeleteFunc(s.troubled, func(server string) bool { return server == name }) // why it fails now is another matter
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
			s.hint = name + " is trusted; /permissions takes it back"
			return
		}
		p := &picker{title: "trust " + name + ": its definitions are not reviewed, its claims are believed",
			items: []item{{label: "until junction chat ends"}, {label: "for good", detail: "as it is started now"}}}
		p.chosen = func(s *screen, i int) {
			s.panel = back
			s.change(func(context.Context) (string, error) {
				return name + " is trusted " + p.items[i].label, s.session.Talk().Trust(name, i == 1)
			})
		}
		s.panel = p
	}
}

// change changes something in the background and says what came of it: in the scrollback,
// and below the panel that covers it.
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
			s.used = s.session.Talk().Ledger()
			s.look(s.session.Talk().Servers())
		}
	})
}

// serverLog is what a server wrote to its standard error and logged, and why it failed.
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
				lines = append(lines, ink.Lines(ink.Bad, troubleOf(&t), width)...)
			}
		}
		if len(lines) == 0 {
			lines = ink.Lines(ink.Muted, name+" wrote nothing to its standard error, and logged nothing", width)
		}
		return lines
	}}
}
