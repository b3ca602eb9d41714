package add

import (
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/sandbox"
)

// maxRefused is how much of what a program is refused while it is looked at is said.
const maxRefused = 5

// notAllowed is what a sandbox refused to a program that is looked at. It is safe for concurrent use.
type notAllowed struct {
	mu     sync.Mutex
	all    []sandbox.Refusal
	onHost func() // nil, or called at the first host; it does not block
}

func (r *notAllowed) add(one sandbox.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := slices.ContainsFunc(r.all, func(other sandbox.Refusal) bool {
		return slices.Equal(other.Allow, one.Allow) && (len(one.Allow) > 0 || other.What == one.What)
	})
	if !known && len(r.all) < maxRefused {
		r.all = append(r.all, one)
	}
	if r.onHost != nil && isOfHost(one) {
		r.onHost()
		r.onHost = nil
	}
}

func isOfHost(one sandbox.Refusal) bool { return slices.Contains(one.Allow, "--host") }

// remedy names what was refused, with the flags that allow it, or else says something else.
func (r *notAllowed) remedy(otherwise string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	files := slices.DeleteFunc(slices.Clone(r.all), isOfHost)
	hosts := slices.DeleteFunc(slices.Clone(r.all), func(one sandbox.Refusal) bool { return !isOfHost(one) })
	for _, one := range append(hosts, files...) { // without files it more often does
		line := "it was refused to " + plaintext.Line(one.What, 200)
		if len(one.Allow) > 0 {
			var words []string
			for _, word := range one.Allow {
				words = append(words, plaintext.Line(word, 200))
			}
			line += ", which " + plaintext.ShellWords(words) + " allows"
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return otherwise
	}
	return strings.Join(said, "; ")
}
