package registry

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// compareVersions orders versions as semantic versions, 2.0.0-beta before 2.0.0. What is none comes before all that are, in the order
// of its text.
func compareVersions(a, b string) int {
	x, y := "v"+strings.TrimPrefix(a, "v"), "v"+strings.TrimPrefix(b, "v")
	return cmp.Or(semver.Compare(x, y), strings.Compare(a, b)) // what is no version is less than all that are
}
