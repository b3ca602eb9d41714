package markdown

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumn is the narrowest column of a table; where the columns do not all
// get that, rows are shown one below the other.
const minColumn = 5

// between stands between two columns.
const between = " │ "

// table shows a table as wide as its texts, at most width. Cells that are too
// long are wrapped.
func (l *layout) table(table *extast.Table, width int) []ink.Line {
	var rows [][]ink.Line
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []ink.Line
		_, isHeader := row.(*extast.TableHeader)
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, l.cell(cell, isHeader))
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil
	}
	widths, fits := columns(rows, width)
	if !fits {
		return records(rows, width)
	}
	var lines []ink.Line
	for i, row := range rows {
		lines = append(lines, tableRow(row, widths, table.Alignments)...)
		if i == 0 {
			lines = append(lines, rule(widths))
		}
	}
	return lines
}

func (l *layout) cell(n ast.Node, isHeader bool) ink.Line {
	var style ink.Style
	if isHeader {
		style.Attr = ink.Bold
	}
	return l.inline(nil, n, style)
}

// columns are the widths of the columns: those of the texts, and where these
// are too wide together, less of the widest.
func columns(rows [][]ink.Line, width int) ([]int, bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], cell.Width(), 1)
		}
	}
	room := width - (len(widths)-1)*ink.Width(between)
	if room < len(widths)*minColumn && room < sum(widths) {
		return nil, false
	}
	for sum(widths) > room {
		over := sum(widths) - room
		sorted := slices.Sorted(slices.Values(widths))
		most := sorted[len(sorted)-1]
		next := minColumn
		for _, w := range slices.Backward(sorted) {
			if w < most {
				next = max(next, w)
				break
			}
		}
		at := slices.Index(widths, most)
		widths[at] -= max(1, min(over, most-next))
	}
	return widths, true
}

func sum(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return n
}

func rule(widths []int) ink.Line {
	var parts []string
	for _, w := range widths {
		parts = append(parts, strings.Repeat("─", w))
	}
	return ink.Line{ink.T(ink.Muted, strings.Join(parts, "─┼─"))}
}

// tableRow is one row, in as many lines as its longest cell needs.
func tableRow(row []ink.Line, widths []int, alignments []extast.Alignment) []ink.Line {
	cells := make([][]ink.Line, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = ink.Wrap(row[i], widths[i])
		}
		height = max(height, len(cells[i]))
	}
	lines := make([]ink.Line, height)
	for y := range lines {
		var line ink.Line
		for i, w := range widths {
			if i > 0 {
				line = append(line, ink.T(ink.Muted, between))
			}
			var text ink.Line
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			alignment := extast.AlignNone
			if i < len(alignments) {
				alignment = alignments[i]
			}
			text = aligned(text, w, alignment)
			if i < len(widths)-1 {
				text = text.Pad(w)
			}
			line = append(line, text...)
		}
		lines[y] = line
	}
	return lines
}

func aligned(text ink.Line, width int, alignment extast.Alignment) ink.Line {
	missing := width - text.Width()
	switch alignment {
	case extast.AlignCenter:
		missing /= 2
	case extast.AlignRight:
	default:
		missing = 0
	}
	if missing <= 0 {
		return text
	}
	return append(ink.Line{ink.T(ink.Plain, strings.Repeat(" ", missing))}, text...)
}

// records shows each row as lines of "heading: text", for narrow screens.
func records(rows [][]ink.Line, width int) []ink.Line {
	if len(rows) == 1 {
		rows = append(rows, make([]ink.Line, len(rows[0])))
	}
	var lines []ink.Line
	for i, row := range rows[1:] {
		if i > 0 {
			lines = append(lines, ink.Line{ink.T(ink.Muted, strings.Repeat("─", min(width, 20)))})
		}
		for c, cell := range row[:min(len(row), len(rows[0]))] {
			line := append(slices.Clone(rows[0][c]), ink.T(ink.Muted, ": "))
			lines = append(lines, ink.Wrap(append(line, cell...), width)...)
		}
	}
	return lines
}
