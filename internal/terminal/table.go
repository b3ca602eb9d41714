package terminal

import "strings"

// gap is the number of cells between two columns.
const gap = 2

// Table aligns rows in columns that are indented and together have at most width cells. The last
// column uses the remaining space, and its cells are wrapped. Other columns have at most half of
// the width. If a cell is longer, the following cells of its row begin on the next line. The result
// ends with a newline, unless there are no rows.
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

// columns returns the widths of all columns except the last.
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
