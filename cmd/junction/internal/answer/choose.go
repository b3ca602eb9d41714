package answer

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/terminal"
)

// Choose asks a person until they typed one of some choices, and returns the first word of that. A choice is words with | between
// them, of which an empty one is Enter alone. What is typed else is answered with otherwise, if that is not empty.
func Choose(ctx context.Context, person *terminal.Person, prompt, otherwise string, choices ...string) (string, error) {
	for {
		typed, err := person.Line(ctx, prompt)
		if err != nil {
			return "", err
		}
		for _, choice := range choices {
			if words := strings.Split(choice, "|"); slices.Contains(words, strings.ToLower(strings.TrimSpace(typed))) {
				return words[0], nil
			}
		}
		if otherwise != "" {
			person.Printf("%s\n", otherwise)
		}
	}
}
