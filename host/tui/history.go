package tui

import (
	"slices"

	"github.com/junction-mcp/junction/host/tui/internal/editor"
)

const (
	maxHistory     = 1_000    // lines that are remembered
	maxHistoryLine = 16 << 10 // bytes of one; what is longer can be brought back until the next
)

// history are lines that were typed. What is being typed is kept while others
// are looked at.
type history struct {
	lines []string
	at    int // len(lines): what is being typed
	draft string
}

func newHistory(lines []string) history {
	lines = slices.Clone(lines[max(0, len(lines)-maxHistory):])
	return history{lines: lines, at: len(lines)}
}

// add adds a line. Whoever looks at others goes on doing so: the line may have waited.
func (h *history) add(line string) {
	looking := h.at < len(h.lines)
	if n := len(h.lines); n > 0 && (len(h.lines[n-1]) > maxHistoryLine || h.lines[n-1] == line) {
		h.lines = h.lines[:n-1]
	}
	h.lines = append(h.lines, line)
	extra := max(0, len(h.lines)-maxHistory)
	h.lines = h.lines[extra:]
	if h.at = max(0, h.at-extra); !looking {
		h.at = len(h.lines)
	}
}

// leave goes back to what is being typed, which is nothing yet.
func (h *history) leave() { h.at, h.draft = len(h.lines), "" }

func (h *history) older(b *editor.Buffer) {
	if h.at == 0 {
		return
	}
	if h.at == len(h.lines) {
		h.draft = b.Text()
	}
	h.at--
	b.Set(h.lines[h.at])
}

func (h *history) newer(b *editor.Buffer) {
	switch {
	case h.at >= len(h.lines):
		return
	case h.at == len(h.lines)-1:
		h.at++
		b.Set(h.draft)
	default:
		h.at++
		b.Set(h.lines[h.at])
	}
}
