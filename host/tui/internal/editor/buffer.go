package editor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxText is the maximum size of the text in bytes.
const maxText = 1 << 20

// A Buffer is text with a cursor. The zero value is empty. It is not safe for concurrent use.
type Buffer struct {
	// Solid lists texts that the cursor treats as one character.
	Solid []string

	text   string
	at     int // position of the cursor in bytes
	killed string
	goal   int // column that Up and Down keep, plus one; 0 means that of the cursor
}

// Text returns the text.
func (b *Buffer) Text() string { return b.text }

// Empty reports whether the text is empty.
func (b *Buffer) Empty() bool { return b.text == "" }

// Before returns the text before the cursor.
func (b *Buffer) Before() string { return b.text[:b.at] }

// After returns the text after the cursor.
func (b *Buffer) After() string { return b.text[b.at:] }

// Set replaces the text and moves the cursor to the end.
func (b *Buffer) Set(text string) {
	b.text = harmless(text)
	b.at, b.goal = len(b.text), 0
}

// Insert inserts text at the cursor, up to the maximum size.
func (b *Buffer) Insert(text string) {
	text = harmless(text)
	if room := maxText - len(b.text); len(text) > room {
		text = strings.ToValidUTF8(text[:max(0, room)], "")
	}
	b.text = b.text[:b.at] + text + b.text[b.at:]
	b.at, b.goal = b.at+len(text), 0
}

// Replace replaces the n bytes before the cursor.
func (b *Buffer) Replace(n int, with string) {
	from := b.at - min(n, b.at)
	b.cut(from, b.at)
	b.Insert(with)
}

// harmless returns text without control characters, except line breaks and tabs.
func harmless(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r):
			return -1
		}
		return r
	}, text)
}

// Left and Right move the cursor by a character.
func (b *Buffer) Left()  { b.move(b.left()) }
func (b *Buffer) Right() { b.move(b.right()) }

// WordLeft and WordRight move the cursor by a word.
func (b *Buffer) WordLeft()  { b.move(b.wordLeft()) }
func (b *Buffer) WordRight() { b.move(b.wordRight()) }

// Home and End move the cursor to the ends of the line.
func (b *Buffer) Home() { b.move(b.home()) }
func (b *Buffer) End()  { b.move(b.end()) }

// Backspace and Delete delete a character.
func (b *Buffer) Backspace() { b.cut(b.left(), b.at) }
func (b *Buffer) Delete()    { b.cut(b.at, b.right()) }

// KillWord deletes a word, and KillLeft and KillRight delete up to the ends of the line. Yank can
// insert the deleted text.
func (b *Buffer) KillWord() { b.kill(b.wordLeft(), b.at) }
func (b *Buffer) KillLeft() { b.kill(b.home(), b.at) }
func (b *Buffer) KillRight() {
	to := b.end()
	if to == b.at && to < len(b.text) {
		to++ // the line break
	}
	b.kill(b.at, to)
}

// Yank inserts the last deleted text.
func (b *Buffer) Yank() { b.Insert(b.killed) }

func (b *Buffer) move(at int) {
	from, _ := b.around(at)
	b.at, b.goal = from, 0
}

// around returns the ends of the solid text that contains a position, or the position twice.
func (b *Buffer) around(at int) (from, to int) {
	for _, solid := range b.solidPlaces() {
		if solid.from < at && at < solid.to {
			return solid.from, solid.to
		}
	}
	return at, at
}

func (b *Buffer) before(at int) int {
	from, _ := b.around(at)
	return from
}

func (b *Buffer) endAt(at int) int {
	_, to := b.around(at)
	return to
}

func (b *Buffer) cut(from, to int) {
	b.text = b.text[:from] + b.text[to:]
	b.move(from)
}

func (b *Buffer) kill(from, to int) {
	if from == to {
		return
	}
	b.killed = b.text[from:to]
	b.cut(from, to)
}

func (b *Buffer) home() int { return strings.LastIndexByte(b.text[:b.at], '\n') + 1 }

func (b *Buffer) end() int {
	if n := strings.IndexByte(b.text[b.at:], '\n'); n >= 0 {
		return b.at + n
	}
	return len(b.text)
}

func (b *Buffer) right() int { return b.endAt(b.at + ink.First(b.text[b.at:])) }

func (b *Buffer) left() int {
	if b.at == 0 {
		return 0
	}
	from := b.home()
	if from == b.at {
		return b.at - 1 // the line break
	}
	for {
		next := from + ink.First(b.text[from:b.at])
		if next >= b.at {
			return b.before(from)
		}
		from = next
	}
}

func (b *Buffer) wordLeft() int {
	at := strings.LastIndexFunc(b.text[:b.at], func(r rune) bool { return !unicode.IsSpace(r) })
	if at < 0 {
		return 0
	}
	space := strings.LastIndexFunc(b.text[:at], unicode.IsSpace)
	if space < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(b.text[space:])
	return b.before(space + size)
}

func (b *Buffer) wordRight() int {
	rest := b.text[b.at:]
	word := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsSpace(r) })
	if word < 0 {
		return len(b.text)
	}
	if space := strings.IndexFunc(rest[word:], unicode.IsSpace); space >= 0 {
		return b.endAt(b.at + word + space)
	}
	return len(b.text)
}

// A Row is one line of the screen.
type Row struct {
	Text     string // as displayed
	from, to int    // offsets in the buffer, without the line break
}

// Layout returns the text in rows of at most width cells, and the column and row of the cursor,
// from 0. Each row leaves space for a cursor after it.
func (b *Buffer) Layout(width int) (rows []Row, x, y int) {
	rows = b.rows(max(width, 2) - 1)
	for i, r := range rows {
		if b.at >= r.from && b.at <= r.to {
			x, y = ink.Width(displayText(b.text[r.from:b.at])), i
		}
	}
	return rows, x, y
}

// rows breaks the text at line breaks. It breaks rows that are too wide at spaces, next to
// characters of two cells, and within words that are wider than a row. A space that does not fit is
// placed in the column for the cursor. Solid texts are not broken unless they are wider than a row.
func (b *Buffer) rows(width int) []Row {
	var rows []Row
	solid := b.solidPlaces()
	from := 0
	for line := range strings.SplitSeq(b.text, "\n") {
		start, cells := from, 0  // start and width of the row
		fits, fitting := from, 0 // last place to break the row, and the width up to there
		end := from + len(line)  // end of the line
		// cut ends the row at offset last. The next row begins at offset next and is already filled cells wide.
		cut := func(last, next, filled int) {
			rows = append(rows, Row{displayText(b.text[start:last]), start, last})
			start, cells, fits, fitting = next, filled, next, 0
		}
		for at := from; at < end; {
			n := min(ink.First(b.text[at:end]), end-at)
			w, space := ink.Width(displayText(b.text[at:at+n])), b.text[at] == ' ' || b.text[at] == '\t'
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

// A place is the position of a text in the buffer.
type place struct{ from, to int }

// solidPlaces returns the positions of solid texts.
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

func displayText(text string) string {
	return plaintext.Clean(strings.ReplaceAll(text, "\t", "    "))
}

// Up moves the cursor to the row above, and reports whether there is one.
func (b *Buffer) Up(width int) bool { return b.vertical(width, -1) }

// Down moves the cursor to the row below, and reports whether there is one.
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
	wrapped := y+by+1 < len(rows) && rows[y+by+1].from == row.to // the row's end is the beginning of the next row
	at := row.from
	for at < row.to {
		n := ink.First(b.text[at:row.to])
		if ink.Width(displayText(b.text[row.from:at+n])) >= goal || wrapped && at+n >= row.to {
			break
		}
		at += n
	}
	if from, to := b.around(at); by > 0 && from <= b.at { // skip the rest of a solid text that fills rows
		at = to
	}
	b.move(at)
	b.goal = goal
	return true
}
