package person

import (
	"context"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/host"
)

// Approving is a person who has approved what some servers define at their first
// review, without being shown it. What changes after that is shown.
type Approving struct {
	host.Person
	Servers []string

	mu   sync.Mutex
	done []string // servers that were reviewed
}

// Review approves once for each of the servers, and asks the person about all else.
func (a *Approving) Review(ctx context.Context, r host.Review) (bool, error) {
	if slices.Contains(a.Servers, r.Server) && a.first(r.Server) {
		return true, nil
	}
	return a.Person.Review(ctx, r)
}

func (a *Approving) first(server string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.done, server) {
		return false
	}
	a.done = append(a.done, server)
	return true
}
