package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A pager shows lines that can be scrolled. It builds them anew for each frame, so that they stay
// current.
type pager struct {
	title  string
	build  func(s *screen, width int) []ink.Line
	scroll scroll
	end    bool  // shows the last lines until the user scrolls
	back   panel // panel to show after this one is closed; nil: none
}

// scroll is the visible part of a list of lines.
type scroll struct {
	at, rows, all int // the first visible line, the number of visible lines, the number of all lines
}

// move handles a key that scrolls, and reports whether it scrolled.
func (w *scroll) move(name string) (moved bool) {
	if name == "space" {
		name = "pgdown"
	}
	w.at, moved = moveTo(name, w.at, max(1, w.rows-1), w.all-w.rows)
	return moved
}

// moveTo returns the new position after a key in a list, from line at. It moves by page lines at a
// time and reports whether the key moves at all.
func moveTo(name string, at, page, last int) (to int, moved bool) {
	switch name {
	case "up", "ctrl+p":
		at--
	case "down", "ctrl+n":
		at++
	case "pgup":
		at -= page
	case "pgdown":
		at += page
	case "home":
		at = 0
	case "end":
		at = last
	default:
		return at, false
	}
	return max(0, min(at, last)), true
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

// framed returns a title, the visible part of the body, and the foot.
func framed(title string, body []ink.Line, w *scroll, foot []ink.Line, width, height int) []ink.Line {
	w.rows, w.all = max(1, height-1-len(foot)), len(body)
	w.at = max(0, min(w.at, w.all-w.rows))
	seen := body[w.at:min(w.at+w.rows, w.all)]
	if w.all > w.rows {
		position := fmt.Sprintf("%d–%d of %d", w.at+1, w.at+len(seen), w.all)
		title = plaintext.Line(title, max(8, width-len(position)-12)) + " · " + position
	}
	out := append([]ink.Line{ruleLine(title, width)}, seen...)
	for _, l := range foot {
		out = append(out, l.Cut(width))
	}
	return out[:min(len(out), max(1, height))]
}

// keyLine returns descriptions of keys on one line. Each text is a key, followed by a word or two.
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

func (s *screen) showHelp(string) { s.panel = helpPanel(s.byLine, s.session.Prompts()) }

// helpPanel lists commands, prompts of servers and keys. Line mode has no keys.
func helpPanel(byLine bool, prompts []host.PromptRef) *pager {
	title, rows := "keys and commands", append(keys(), [2]string{})
	if byLine {
		title, rows = "commands", nil
	}
	for _, c := range commands() {
		if !byLine || !c.drawn {
			rows = append(rows, [2]string{strings.TrimSpace("/" + c.name + " " + c.argument), c.help})
		}
	}
	rows = append(rows, [2]string{"/SERVER:PROMPT", "a prompt of a server; NAME=VALUE for its arguments"})
	for _, p := range prompts {
		rows = append(rows, [2]string{plaintext.Line("/"+p.Server+":"+p.Prompt.Name, 60), plaintext.Line(cmp.Or(p.Prompt.Description, p.Prompt.Title), 200)})
	}
	rows = append(rows, [2]string{"@PATH", "attach a text file or a picture below this folder; @\"a path\" with spaces"}, [2]string{"@SERVER:URI", "attach a resource of a server"})
	if byLine {
		rows = append(rows, [2]string{"Ctrl+C Ctrl+D", "interrupts the answer; quits"}, [2]string{"anything else", "is a question"})
	}
	return &pager{title: title, build: func(_ *screen, width int) []ink.Line { return pairs(rows, width) }}
}

// keys returns descriptions of all keys of the input.
func keys() [][2]string {
	return [][2]string{
		{"Enter", "send"}, {"Alt+Enter Ctrl+J", "a new line; a backslash before Enter too"},
		{"Tab", "accept the completion"}, {"↑ ↓", "lines, then earlier input"},
		{"Ctrl+G", "open the input in $VISUAL or $EDITOR, pastes in full"}, {"Ctrl+V", "attach the picture in the clipboard"}, {"Ctrl+R", "search earlier input"}, {"Ctrl+F", "search what is on the screen"},
		{"Ctrl+O", "calls and thoughts in full"}, {"Ctrl+T", "show or hide the steps of a run"},
		{"Esc", "interrupt the answer, keeping its text; close; twice: continue from an earlier question"}, {"Enter ↑ Ctrl+X", "while an answer comes: queue a question, edit the last one, remove it"},
		{"Ctrl+C", "cancel the run, and hold queued questions; twice: quit"}, {"Ctrl+D", "quit; twice while an answer comes"},
		{"F1 F2 F3 F4", "help, servers, context, log"},
		{"Ctrl+A Ctrl+E", "start and end of the line"}, {"Alt+B Alt+F", "a word back or on"},
		{"Ctrl+W Ctrl+U Ctrl+K", "delete a word, to the start, to the end; Ctrl+Y brings it back"},
	}
}

// pairs returns names with their descriptions in two columns.
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

// toolsPager lists the tools for which keep returns true.
func toolsPager(title string, keep func(*host.ToolInfo) bool) *pager {
	return &pager{title: title, build: func(s *screen, width int) []ink.Line {
		var lines []ink.Line
		for _, t := range s.session.Talk().Tools() {
			if !keep(&t) {
				continue
			}
			line := ink.Line{ink.T(ink.Plain, toolName(t.Server, t.Tool), ink.Bold)}
			if t.Title != "" && t.Title != t.Tool {
				line = append(line, ink.T(ink.Plain, " “"+plaintext.Line(t.Title, 60)+"”"))
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
				lines = append(lines, ink.Wrap(ink.Line{ink.T(ink.Muted, "stderr   "), ink.T(ink.Accent, plaintext.Line(t.Server, 60)+" "), ink.T(ink.Plain, plaintext.Line(text, 2_000))}, width)...)
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
		l := s.session.Talk().WindowUse()
		share := 0.0
		if l.Window > 0 {
			share = float64(l.Used) / float64(l.Window)
		}
		lines := []ink.Line{bar(share, 1, fmt.Sprintf("%s of %s tokens", count(l.Used), count(l.Window))), nil}
		parts := slices.Clone(l.Parts)
		slices.SortStableFunc(parts, func(a, b host.WindowPart) int { return b.Tokens - a.Tokens })
		for _, p := range parts {
			text := p.Name
			if p.Deferred > 0 {
				text += fmt.Sprintf(" (%s more are found by search)", count(p.Deferred))
			}
			head := ink.Line{ink.T(ink.Plain, fmt.Sprintf("%8s ", count(p.Tokens))), ink.T(ink.Accent, fmt.Sprintf("%-8s ", p.Kind))}
			lines = append(lines, append(head, ink.T(ink.Muted, plaintext.Line(text, 200))).Cut(width))
		}
		t := s.session.Talk().Totals()
		about := fmt.Sprintf("so far: %s, %s, %s tokens in (%s cached), %s out, %s",
			plural(t.Requests, "request", "requests"), plural(t.Calls, "call", "calls"),
			count(t.Usage.Input), count(t.Usage.CacheRead), count(t.Usage.Output), formatDollars(t.Cost, t.CostUnknown))
		return append(append(lines, nil), ink.Lines(ink.Muted, about, width)...)
	}}
}

// A picker is a list to choose from. Typed text filters it.
type picker struct {
	title    string
	items    []item // the newest first
	chosen   func(s *screen, i int)
	filter   editor.Buffer
	selected int // index among the items that match
	scroll   scroll
}

func (p *picker) takes(keypress) bool { return true }

func (p *picker) press(s *screen, k keypress) bool {
	fitting := p.fitting()
	switch k.name {
	case "esc":
		return true
	case "enter":
		if p.selected < len(fitting) {
			p.chosen(s, fitting[p.selected])
		}
		return len(fitting) > 0
	case "up", "ctrl+p", "down", "ctrl+n", "pgup", "pgdown":
		p.selected, _ = moveTo(k.name, p.selected, p.scroll.rows, len(fitting)-1)
	case "ctrl+r", "ctrl+o":
		p.selected++
	default:
		if editKey(&p.filter, k) {
			p.selected = 0
		}
	}
	p.selected = max(0, min(p.selected, len(p.fitting())-1))
	return false
}

func (p *picker) write(_ *screen, text string) { p.filter.Insert(plaintext.Line(text, 200)) }

// fitting returns the indexes of the items that contain every typed word.
func (p *picker) fitting() []int {
	words := strings.Fields(strings.ToLower(p.filter.Text()))
	var fitting []int
	for i, it := range p.items {
		text := strings.ToLower(it.label + " " + it.detail)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			fitting = append(fitting, i)
		}
	}
	return fitting
}

func (p *picker) lines(_ *screen, width, height int) []ink.Line {
	rows, fitting := height-3, p.fitting()
	p.scroll.at = max(min(p.scroll.at, p.selected, len(fitting)-rows), p.selected-rows+1, 0)
	var body []ink.Line
	for n, i := range fitting {
		if n < p.scroll.at || n >= p.scroll.at+rows { // lay out only visible items, because there can be thousands
			body = append(body, nil)
			continue
		}
		mark, attr := "  ", ink.Attr(0)
		if n == p.selected {
			mark, attr = "▸ ", ink.Bold
		}
		line := ink.Line{ink.T(ink.Accent, mark), ink.T(ink.Plain, plaintext.Line(p.items[i].label, width), attr)}
		body = append(body, append(line, ink.T(ink.Muted, "  "+plaintext.Line(p.items[i].detail, width))).Cut(width))
	}
	if len(body) == 0 {
		body = []ink.Line{{ink.T(ink.Muted, "  nothing fits")}}
	}
	foot := []ink.Line{
		append(ink.Line{ink.T(ink.Muted, "filter: ")}, withCursor(&p.filter, filterShown)...),
		keyLine("Enter choose", "↑↓ move", "Esc close"),
	}
	return framed(p.title, body, &p.scroll, foot, width, height)
}

// filterShown is the number of cells of the filter that are shown.
const filterShown = 30

// withCursor returns typed text on one line with the cursor in it. Only the last room cells before
// the cursor are shown; 0 means all.
func withCursor(b *editor.Buffer, room int) ink.Line {
	before, after := plaintext.Line(b.Before(), 2_000), plaintext.Line(b.After(), 2_000)
	under := " "
	if after != "" {
		runes := []rune(after)
		under, after = string(runes[:1]), string(runes[1:])
	}
	if room > 0 && ink.Width(before) > room && after == "" {
		runes := []rune(before)
		before = "…" + string(runes[max(0, len(runes)-room):])
	}
	return ink.Line{ink.T(ink.Plain, before), ink.T(ink.Plain, under, ink.Reverse), ink.T(ink.Plain, after)}
}

// historyPanel searches earlier input.
func historyPanel(s *screen) *picker {
	p := &picker{title: "earlier input"}
	for _, line := range slices.Backward(s.history.lines) {
		p.items = append(p.items, item{label: line})
	}
	p.chosen = func(s *screen, i int) {
		s.input.Set(s.folded(p.items[i].label))
		s.menu.update(s)
	}
	return p
}

// callsPanel lists calls and reasoning texts, and shows one of them in full.
func callsPanel(s *screen) *picker {
	p := &picker{title: "calls and thoughts"}
	past := slices.Clone(s.past)
	if s.run != nil {
		past = append(past, s.run.running()...)
	}
	slices.Reverse(past)
	for _, c := range past {
		p.items = append(p.items, c.item())
	}
	p.chosen = func(s *screen, i int) {
		c := past[i]
		s.panel = &pager{title: c.item().label, build: func(_ *screen, width int) []ink.Line { return c.details(width) }}
	}
	return p
}

func (c *call) item() item {
	name := toolName(c.Server, c.Tool)
	if c.by != "" {
		name = plaintext.Line(c.by, 30) + ": " + name
	}
	switch {
	case c.thought != "":
		return item{label: "∴ thought for " + seconds(c.took), detail: c.thought}
	case c.refused != "":
		return item{label: "✗ " + name + " did not run", detail: string(c.Arguments)}
	case c.result == nil:
		return item{label: "● " + name, detail: string(c.Arguments)}
	case c.result.IsError:
		return item{label: "✗ " + name, detail: string(c.Arguments)}
	}
	return item{label: "✓ " + name, detail: string(c.Arguments)}
}

// conversationsPanel lists stored conversations.
func conversationsPanel(list []Saved, current string) *picker {
	p := &picker{title: "conversations"}
	for _, c := range list {
		this := ""
		if c.ID == current {
			this = " · this one"
		}
		if c.Folder != "" {
			this += " · in " + plaintext.Line(c.Folder, 200)
		}
		p.items = append(p.items, item{
			label:  orElse(c.Title, c.ID),
			detail: fmt.Sprintf("%s · %s · %s", c.ID, c.Changed.Format("2006-01-02 15:04"), plural(c.Questions, "question", "questions")) + this,
		})
	}
	p.chosen = func(s *screen, i int) {
		s.inBackground(func(ctx context.Context) error { return s.session.Resume(ctx, list[i].ID) }, (*screen).changed)
	}
	return p
}

// A roster is a list with keys that act on its selected entry. It builds its rows anew for each
// frame, so that they stay current.
type roster struct {
	title, none string
	rows        func(s *screen, width int) [][]ink.Line // lines of each entry
	keys        []string                                // descriptions for keyLine
	act         func(s *screen, key string, at int)
	at, count   int // index of the selected entry, and the number of entries
	scroll      scroll
}

func (r *roster) takes(k keypress) bool {
	return k.text == "" || k.name == "q" || slices.ContainsFunc(r.keys, func(key string) bool { return slices.Contains(strings.Fields(key)[:1], k.text) })
}

func (r *roster) press(s *screen, k keypress) bool {
	if k.name == "esc" || k.name == "q" {
		return true
	}
	to, moved := moveTo(k.name, r.at, max(1, r.scroll.rows/2), r.count-1)
	if !moved && r.at < r.count {
		r.act(s, k.name, r.at)
	}
	r.at = max(0, min(to, r.count-1))
	return false
}

func (r *roster) lines(s *screen, width, height int) []ink.Line {
	rows := r.rows(s, width-2)
	r.count = len(rows)
	r.at = max(0, min(r.at, r.count-1))
	var body []ink.Line
	from, to := 0, 0 // lines of the selected entry
	for i, row := range rows {
		mark := ink.Of("  ")
		if i == r.at {
			mark, from, to = ink.Line{ink.T(ink.Accent, "▸ ")}, len(body), len(body)+len(row)
		}
		body = append(body, ink.Indent(row, mark, ink.Of("  "))...)
	}
	if len(rows) == 0 {
		body = ink.Lines(ink.Muted, r.none, width)
	}
	foot := ink.Wrap(keyLine(append(r.keys, "Esc close")...), width)
	r.scroll.at = max(min(r.scroll.at, from), min(from, to-(height-1-len(foot))))
	return framed(r.title, body, &r.scroll, foot, width, height)
}

// searchPanel lists the printed lines, and shows the chosen one in its context.
func searchPanel(s *screen) *picker {
	printed := slices.Clone(s.paper.transcript)
	p := &picker{title: "search"}
	var at []int // index of each item in printed
	for i, l := range slices.Backward(printed) {
		if text := strings.TrimSpace(l.String()); text != "" {
			p.items, at = append(p.items, item{label: text}), append(at, i)
		}
	}
	p.chosen = func(s *screen, i int) {
		found := &pager{title: "search", back: p, build: func(*screen, int) []ink.Line { return printed }}
		found.scroll.at = max(0, at[i]-s.height/3)
		s.panel = found
	}
	return p
}
