package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxMeant is how many names are suggested in place of one that nothing has.
const maxMeant = 3

// OrMeant asks whether one of some names was meant; empty names are none.
func OrMeant(names ...string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var quoted []string
	for _, name := range names {
		if name != "" && len(quoted) < maxMeant {
			quoted = append(quoted, fmt.Sprintf("%q", plaintext.Line(name, 80)))
		}
	}
	if len(quoted) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}
