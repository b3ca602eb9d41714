package arguments

import "strings"

// Nearest is the name most like the one that was typed, or nothing if none is
// close: at most a third of its letters may differ.
func Nearest(typed string, names []string) string {
	best, least := "", len(typed)/3+1
	for _, name := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(name)); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace on the way from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
