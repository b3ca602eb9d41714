package person

import (
	"context"
	"slices"

	"github.com/junction-mcp/junction/host"
)

// Approving is a person who has approved what some servers define, without being
// shown it.
type Approving struct {
	host.Person
	Servers []string
}

// Review approves for the servers, and asks the person about all others.
func (a Approving) Review(ctx context.Context, r host.Review) (bool, error) {
	if slices.Contains(a.Servers, r.Server) {
		return true, nil
	}
	return a.Person.Review(ctx, r)
}
