package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A pager shows lines that can be scrolled through. They are made again whenever
// they are shown, so they are true as long as the pager is open.
type pager struct {
	title  string
	build  func(s *screen, width int) []ink.Line
	scroll scroll
	end    bool  // shows the last lines until it is scrolled
	back   panel // is shown again when this is closed; nil: nothing
}

// scroll is a window on lines.
type scroll struct {
	at, rows, all int // the first line, how many are shown, how many there are
}

// move scrolls as a key says, and reports whether it did.
func (w *scroll) move(name string) bool {
	page := max(1, w.rows-1)
	switch name {
	case "up", "ctrl+p":
		w.at--
	case "down", "ctrl+n":
		w.at++
	case "pgup":
		w.at -= page
	case "pgdown", "space":
		w.at += page
	case "home":
		w.at = 0
	case "end":
		w.at = w.all
	default:
		return false
	}
	w.at = max(0, min(w.at, w.all-w.rows))
	return true
}

// cut is what of the lines is seen in so many rows.
func (w *scroll) cut(lines []ink.Line, rows int) []ink.Line {
	w.rows, w.all = max(1, rows), len(lines)
	w.at = max(0, min(w.at, w.all-w.rows))
	return lines[w.at:min(w.at+w.rows, w.all)]
}

// position says what is seen of more.
func (w *scroll) position() string {
	if w.all <= w.rows {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", w.at+1, min(w.at+w.rows, w.all), w.all)
}

func (p *pager) takes(k keypress) bool {
	return k.text == "" || k.name == "space" || k.name == "q" && p.back != nil
}

func (p *pager) press(s *screen, k keypress) bool {
	if p.scroll.move(k.name) {
		p.end = false
		return false
	}
	done := k.name == "esc" || k.name == "q" || k.name == "enter"
	if done && p.back != nil {
		s.panel = p.back
	}
	return done
}

func (p *pager) lines(s *screen, width, height int) []ink.Line {
	body := p.build(s, width)
	if p.end {
		p.scroll.at = len(body)
	}
	return framed(p.title, body, &p.scroll, []ink.Line{keyLine("↑↓ scroll", "Esc close")}, width, height)
}

// framed puts a title above and keys below what fits of the body.
func framed(title string, body []ink.Line, w *scroll, foot []ink.Line, width, height int) []ink.Line {
	seen := w.cut(body, height-1-len(foot))
	if position := w.position(); position != "" {
		title = oneLine(title, max(8, width-len(position)-12)) + " · " + position
	}
	out := append([]ink.Line{ruleLine(title, width)}, seen...)
	for _, l := range foot {
		out = append(out, l.Cut(width))
	}
	return out[:min(len(out), max(1, height))]
}

// keyLine says what keys do: each text is a key and a word or two.
func keyLine(keys ...string) ink.Line {
	var line ink.Line
	for i, k := range keys {
		if i > 0 {
			line = append(line, ink.T(ink.Muted, " · "))
		}
		key, what, _ := strings.Cut(k, " ")
		line = append(line, ink.T(ink.Accent, key, ink.Bold), ink.T(ink.Muted, " "+what))
	}
	return line
}

func (s *screen) showHelp(string) { s.panel = helpPanel(s.byLine) }

// helpPanel lists commands, and keys where they do something.
func helpPanel(byLine bool) *pager {
	title, rows := "keys and commands", append(keys(), [2]string{})
	if byLine {
		title, rows = "commands", nil
	}
	for _, c := range commands() {
		if !byLine || !c.drawn {
			rows = append(rows, [2]string{strings.TrimSpace("/" + c.name + " " + c.argument), c.help})
		}
	}
	rows = append(rows, [2]string{"/SERVER:PROMPT", "a prompt of a server; NAME=VALUE for its arguments"},
		[2]string{"@PATH", "a text file or a picture below this folder goes along; @\"a path\" with spaces"}, [2]string{"@SERVER:URI", "a resource of a server goes along"})
	if byLine {
		rows = append(rows, [2]string{"Ctrl+C Ctrl+D", "interrupts the answer; quits"}, [2]string{"anything else", "is a question"})
	}
	return &pager{title: title, build: func(_ *screen, width int) []ink.Line { return pairs(rows, width) }}
}

// keys are all keys of the input.
func keys() [][2]string {
	return [][2]string{
		{"Enter", "send"}, {"Alt+Enter Ctrl+J", "a new line; a backslash before Enter too"},
		{"Tab", "accept the completion"}, {"↑ ↓", "lines, then earlier input"},
		{"Ctrl+G", "open the input in $VISUAL or $EDITOR, pastes in full"}, {"Ctrl+V", "the picture in the clipboard goes along"}, {"Ctrl+R", "search earlier input"}, {"Ctrl+F", "search what is on the screen"},
		{"Ctrl+O", "calls and thoughts in full"}, {"Ctrl+T", "show or hide the steps of a run"},
		{"Esc", "interrupt the answer, what came stays; close; twice: earlier questions to go on from"}, {"Enter ↑ Ctrl+X", "while an answer comes: queue a question, edit the last one, remove it"},
		{"Ctrl+C", "cancel the run, hold what is queued; twice: quit"}, {"Ctrl+D", "quit; twice while an answer comes"},
		{"F1 F2 F3 F4", "help, servers, context, log"},
		{"Ctrl+A Ctrl+E", "start and end of the line"}, {"Alt+B Alt+F", "a word back or on"},
		{"Ctrl+W Ctrl+U Ctrl+K", "delete a word, to the start, to the end; Ctrl+Y brings it back"},
	}
}

// pairs are names with what they mean.
func pairs(rows [][2]string, width int) []ink.Line {
	longest := 0
	for _, r := range rows {
		longest = max(longest, ink.Width(r[0]))
	}
	longest = min(longest, width/2)
	var lines []ink.Line
	for _, r := range rows {
		name := ink.Line{ink.T(ink.Accent, r[0])}
		if name.Width() > longest {
			lines = append(lines, name.Cut(width))
			name = nil
		}
		name = name.Pad(longest + 2)
		rest := ink.Line{ink.T(ink.Plain, strings.Repeat(" ", longest+2))}
		lines = append(lines, ink.Indent(ink.Lines(ink.Muted, r[1], width-longest-2), name, rest)...)
	}
	return lines
}

// toolsPager lists the tools that keep is true of.
func toolsPager(title string, keep func(*host.ToolInfo) bool) *pager {
	return &pager{title: title, build: func(s *screen, width int) []ink.Line {
		var lines []ink.Line
		for _, t := range s.session.Talk().Tools() {
			if !keep(&t) {
				continue
			}
			line := ink.Line{ink.T(ink.Plain, toolName(t.Server, t.Tool), ink.Bold)}
			if t.Title != "" && t.Title != t.Tool {
				line = append(line, ink.T(ink.Plain, " “"+oneLine(t.Title, 60)+"”"))
			}
			state := t.State
			if t.View != "" {
				state += ", has a view"
			}
			lines = append(lines, ink.Wrap(append(line, ink.T(ink.Muted, "  "+state)), width)...)
		}
		if len(lines) == 0 {
			lines = ink.Lines(ink.Muted, "there are none", width)
		}
		return lines
	}}
}

func logPanel() *pager {
	return &pager{title: "log", end: true, build: func(s *screen, width int) []ink.Line {
		var lines []ink.Line
		s.readLog = s.now()
		for _, t := range s.servers {
			for _, text := range s.session.Stderr(t.Server) {
				lines = append(lines, ink.Wrap(ink.Line{ink.T(ink.Muted, "stderr   "), ink.T(ink.Accent, oneLine(t.Server, 60)+" "), ink.T(ink.Plain, oneLine(text, 2_000))}, width)...)
			}
		}
		for i := range s.log {
			lines = append(lines, ink.Wrap(s.log[i].line(), width)...)
		}
		if len(lines) == 0 {
			lines = ink.Lines(ink.Muted, "no server has logged anything or written to its standard error", width)
		}
		return lines
	}}
}

func contextPanel() *pager {
	return &pager{title: "context", build: func(s *screen, width int) []ink.Line {
		l := s.session.Talk().Ledger()
		share := 0.0
		if l.Window > 0 {
			share = float64(l.Used) / float64(l.Window)
		}
		lines := []ink.Line{bar(share, 1, fmt.Sprintf("%s of %s tokens", count(l.Used), count(l.Window))), nil}
		parts := slices.Clone(l.Parts)
		slices.SortStableFunc(parts, func(a, b host.LedgerPart) int { return b.Tokens - a.Tokens })
		for _, p := range parts {
			text := p.Name
			if p.Deferred > 0 {
				text += fmt.Sprintf(" (%s more are left to search)", count(p.Deferred))
			}
			head := ink.Line{ink.T(ink.Plain, fmt.Sprintf("%8s ", count(p.Tokens))), ink.T(ink.Accent, fmt.Sprintf("%-8s ", p.Kind))}
			lines = append(lines, append(head, ink.T(ink.Muted, oneLine(text, 200))).Cut(width))
		}
		t := s.session.Talk().Totals()
		about := fmt.Sprintf("so far: %s, %s, %s tokens in (%s cached), %s out, %s",
			plural(t.Requests, "request", "requests"), plural(t.Calls, "call", "calls"),
			count(t.Usage.Input), count(t.Usage.CacheRead), count(t.Usage.Output), money(t.Cost, t.CostUnknown))
		return append(append(lines, nil), ink.Lines(ink.Muted, about, width)...)
	}}
}
