package nearest

import "strings"

const maxCompared = 64 // bytes of a name

// Name returns the name that is most similar to the typed one, or "" if none is similar enough. Of
// several equally similar names it returns the first. At most a third of the letters may be wrong,
// missing or extra, or two neighbouring letters may be swapped. Case, underscores, hyphens and
// spaces do not matter.
func Name(typed string, names []string) string {
	typed = fold(typed)
	best, least := "", (len(typed)+1)/3+1
	for _, name := range names {
		folded := fold(name)
		d := distance(typed, folded)
		if swapped(typed, folded) {
			d = 1
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// fold returns name without separators and in lower case, cut off at maxCompared bytes.
func fold(name string) string {
	name = name[:min(len(name), maxCompared)]
	return separators.Replace(strings.ToLower(name))
}

// swapped reports whether the texts differ only in two neighbouring bytes that are swapped.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// distance returns the minimum number of bytes to insert, delete or replace (the Levenshtein
// distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
