package editor

import (
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A Row is one line of the screen.
type Row struct {
	Text     string // as it is shown
	from, to int    // in the buffer, without the line break
}

// Layout lays the text out in rows of at most width cells and says where the
// cursor is: column and row, from 0. There is room for a cursor behind each row.
func (b *Buffer) Layout(width int) (rows []Row, x, y int) {
	rows = b.rows(max(width, 2) - 1)
	for i, r := range rows {
		if b.at >= r.from && b.at <= r.to {
			x, y = ink.Width(shown(b.text[r.from:b.at])), i
		}
	}
	return rows, x, y
}

// rows breaks the text at line breaks and where it is too wide.
func (b *Buffer) rows(width int) []Row {
	var rows []Row
	from := 0
	for line := range strings.SplitSeq(b.text, "\n") {
		start, cells := from, 0
		end := from + len(line)
		for at := from; at < end; {
			n := min(ink.First(b.text[at:end]), end-at)
			w := ink.Width(shown(b.text[at : at+n]))
			if cells+w > width && at > start {
				rows = append(rows, Row{shown(b.text[start:at]), start, at})
				start, cells = at, 0
			}
			at, cells = at+n, cells+w
		}
		rows = append(rows, Row{shown(b.text[start:end]), start, end})
		from = end + 1
	}
	return rows
}

func shown(text string) string {
	return plaintext.Clean(strings.ReplaceAll(text, "\t", "    "))
}

// Up moves to the row above, and reports whether there is one.
func (b *Buffer) Up(width int) bool { return b.vertical(width, -1) }

// Down moves to the row below, and reports whether there is one.
func (b *Buffer) Down(width int) bool { return b.vertical(width, 1) }

func (b *Buffer) vertical(width, by int) bool {
	rows, x, y := b.Layout(width)
	if y+by < 0 || y+by >= len(rows) {
		return false
	}
	if b.goal == 0 {
		b.goal = x + 1
	}
	goal, row := b.goal, rows[y+by]
	at := row.from
	for at < row.to {
		n := ink.First(b.text[at:row.to])
		if ink.Width(shown(b.text[row.from:at+n])) >= goal {
			break
		}
		at += n
	}
	b.move(at)
	b.goal = goal
	return true
}
