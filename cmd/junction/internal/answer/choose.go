package answer

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/terminal"
)

// Choose asks the user until one of the choices is typed, and returns the first word of that
// choice. A choice is a list of words, separated by "|". An empty word stands for Enter alone.
// After any other input, Choose prints otherwise, unless it is empty.
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
