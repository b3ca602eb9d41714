package tui

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A roster is a list of things that keys act on. Its rows are made again whenever it is
// shown, so they are true as long as it is open.
type roster struct {
	title, none string
	rows        func(s *screen, width int) [][]ink.Line // of each thing its lines
	keys        []string                                // as keyLine has them
	act         func(s *screen, key string, at int)
	at, count   int // which one is chosen, and how many there were
	scroll      scroll
}

func (r *roster) takes(k keypress) bool {
	return k.text == "" || k.name == "q" || slices.ContainsFunc(r.keys, func(key string) bool { return slices.Contains(strings.Fields(key)[:1], k.text) })
}

func (r *roster) press(s *screen, k keypress) bool {
	switch k.name {
	case "esc", "q":
		return true
	case "up", "ctrl+p":
		r.at--
	case "down", "ctrl+n":
		r.at++
	case "pgup":
		r.at -= max(1, r.scroll.rows/2)
	case "pgdown":
		r.at += max(1, r.scroll.rows/2)
	case "home":
		r.at = 0
	case "end":
		r.at = r.count
	default:
		if r.at < r.count {
			r.act(s, k.name, r.at)
		}
	}
	r.at = max(0, min(r.at, r.count-1))
	return false
}

func (r *roster) lines(s *screen, width, height int) []ink.Line {
	rows := r.rows(s, width-2)
	r.count = len(rows)
	r.at = max(0, min(r.at, r.count-1))
	var body []ink.Line
	from, to := 0, 0 // where the chosen one stands
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
