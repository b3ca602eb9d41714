package install

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var plainVersion = regexp.MustCompile(`^v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}$`)

// numbers are those of a version that is no preview: nil where it has more than numbers in it.
func numbers(version string) []int {
	version, _, _ = strings.Cut(version, "+")
	if !plainVersion.MatchString(version) {
		return nil
	}
	var all []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}

// isNewerVersion reports whether a text is a version without a suffix, such as 1.2.3 or v1.2, and newer than another.
func isNewerVersion(text, than string) bool {
	version := numbers(text)
	return version != nil && (than == "" || slices.Compare(version, numbers(than)) > 0)
}
