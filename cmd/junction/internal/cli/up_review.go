package cli

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// SomeNames are the first of some names, and how many more there are.
func SomeNames(names []string) string {
	some := make([]string, 0, MaxRenamed+1)
	for _, name := range names[:min(len(names), MaxRenamed)] {
		some = append(some, plaintext.Line(name, 100))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return strings.Join(some, ", ")
}
