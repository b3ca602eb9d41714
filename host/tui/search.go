package tui

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// searchPanel offers the lines that were printed, and shows one of them where it stands.
func searchPanel(s *screen) *picker {
	printed := slices.Clone(s.paper.transcript)
	p := &picker{title: "search"}
	var at []int // of the items
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
