package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/editor"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A picker is a list to choose from; what is typed filters it.
type picker struct {
	title    string
	items    []item // the newest first
	chosen   func(s *screen, i int)
	filter   editor.Buffer
	selected int // among those that fit
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
	case "up", "ctrl+p":
		p.selected--
	case "down", "ctrl+n", "ctrl+r", "ctrl+o":
		p.selected++
	case "pgup":
		p.selected -= p.scroll.rows
	case "pgdown":
		p.selected += p.scroll.rows
	default:
		if editKey(&p.filter, k) {
			p.selected = 0
		}
	}
	p.selected = max(0, min(p.selected, len(p.fitting())-1))
	return false
}

func (p *picker) write(_ *screen, text string) { p.filter.Insert(oneLine(text, 200)) }

// fitting are the items that hold every word that was typed.
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
		if n < p.scroll.at || n >= p.scroll.at+rows { // there can be thousands that nobody sees
			body = append(body, nil)
			continue
		}
		mark, attr := "  ", ink.Attr(0)
		if n == p.selected {
			mark, attr = "▸ ", ink.Bold
		}
		line := ink.Line{ink.T(ink.Accent, mark), ink.T(ink.Plain, oneLine(p.items[i].label, width), attr)}
		body = append(body, append(line, ink.T(ink.Muted, "  "+oneLine(p.items[i].detail, width))).Cut(width))
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

// filterShown is how many cells of a filter are shown.
const filterShown = 30

// withCursor is typed text on one line with the cursor in it. Of a long text before the cursor the last room cells are
// shown; without room, all of it.
func withCursor(b *editor.Buffer, room int) ink.Line {
	before, after := oneLine(b.Before(), 2_000), oneLine(b.After(), 2_000)
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

// historyPanel searches what was typed earlier.
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

// callsPanel shows calls and thoughts, and one of them in full.
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
		name = oneLine(c.by, 30) + ": " + name
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

// conversationsPanel offers kept conversations.
func conversationsPanel(list []Saved, current string) *picker {
	p := &picker{title: "conversations"}
	for _, c := range list {
		this := ""
		if c.ID == current {
			this = " · this one"
		}
		if c.Folder != "" {
			this += " · in " + oneLine(c.Folder, 200)
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
