package editor

import (
	"slices"
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

// rows breaks the text at line breaks and, where it is too wide, at spaces, next to characters of
// two cells, and within a word that is wider than a row. A space that does not fit stands where there
// is room for the cursor. Solid texts are words.
func (b *Buffer) rows(width int) []Row {
	var rows []Row
	solid := b.solidPlaces()
	from := 0
	for line := range strings.SplitSeq(b.text, "\n") {
		start, cells := from, 0         // of the row
		fits, fitting := from, 0        // what of it is there up to the last place to break it
		end := from + len(line)         // of the line
		cut := func(at, to, left int) { // ends the row; so many cells of what follows are laid out
			rows = append(rows, Row{shown(b.text[start:at]), start, at})
			start, cells, fits, fitting = to, left, to, 0
		}
		for at := from; at < end; {
			n := min(ink.First(b.text[at:end]), end-at)
			w, space := ink.Width(shown(b.text[at:at+n])), b.text[at] == ' ' || b.text[at] == '\t'
			breaks := !slices.ContainsFunc(solid, func(s place) bool { return s.from < at+n && at < s.to })
			if w == 2 && breaks {
				fits, fitting = at, cells
			}
			if b.text[at] == ' ' && w == 1 && breaks && cells+w > width {
				cut(at+n, at+n, 0)
				at += n
				continue
			}
			if cells+w > width && fits > start {
				cut(fits, fits, cells-fitting)
			}
			if cells+w > width && at > start {
				cut(at, at, 0)
			}
			at, cells = at+n, cells+w
			if (space || w == 2) && breaks {
				fits, fitting = at, cells
			}
		}
		cut(end, end+1, 0)
		from = end + 1
	}
	return rows
}

// A place is where something stands in the text.
type place struct{ from, to int }

// solidPlaces are where solid texts stand.
func (b *Buffer) solidPlaces() (all []place) {
	for _, solid := range b.Solid {
		for end := 0; solid != ""; {
			begin := strings.Index(b.text[end:], solid)
			if begin < 0 {
				break
			}
			all = append(all, place{end + begin, end + begin + len(solid)})
			end += begin + len(solid)
		}
	}
	return all
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
	wrapped := y+by+1 < len(rows) && rows[y+by+1].from == row.to // its end is the beginning of the next one
	at := row.from
	for at < row.to {
		n := ink.First(b.text[at:row.to])
		if ink.Width(shown(b.text[row.from:at+n])) >= goal || wrapped && at+n >= row.to {
			break
		}
		at += n
	}
	if from, to := b.around(at); by > 0 && from <= b.at { // a solid text that fills rows is passed
		at = to
	}
	b.move(at)
	b.goal = goal
	return true
}
