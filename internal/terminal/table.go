package terminal

import "strings"

// gap is the space between two columns.
const gap = 2

// Table aligns rows in columns, indented, in at most width cells. The last column is wrapped and
// takes the remaining room. No other column is wider than half of the width; a longer cell moves
// the rest of its row to the next line. The result ends in a line break if there are rows.
func Table(rows [][]string, indent, width int) string {
	widths := columns(rows, (width-indent)/2)
	margin := strings.Repeat(" ", indent)
	var out strings.Builder
	for _, row := range rows {
		line := strings.Builder{}
		line.WriteString(margin)
		at := indent
		for i, cell := range row {
			if i == len(row)-1 {
				break
			}
			line.WriteString(cell)
			end := at + widths[i] + gap
			if Width(cell) > widths[i] {
				out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
				line.Reset()
				line.WriteString(strings.Repeat(" ", end))
			} else {
				line.WriteString(strings.Repeat(" ", widths[i]-Width(cell)+gap))
			}
			at = end
		}
		text := ""
		if len(row) > 0 {
			text = Wrap(row[len(row)-1], at, width)
		}
		if len(text) > at {
			text = line.String() + text[at:]
		} else {
			text = line.String()
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return out.String()
}

// columns returns the widths of all columns but the last.
func columns(rows [][]string, most int) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				break
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if cells := Width(cell); cells <= most {
				widths[i] = max(widths[i], cells)
			}
		}
	}
	return widths
}
