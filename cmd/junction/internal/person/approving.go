package person

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
)

// Approving is a person who has approved in advance what some servers define, without
// being shown it: at first sight, or exactly one change.
type Approving struct {
	host.Person
	// Servers are names, for what a server defines when it is seen for the first time, or
	// NAME@HASH, for exactly what is shown, such as a change of what was approved; the hash is
	// that of [approval.Hash]. What follows the last @ is always a hash, so that no server can be
	// called like an approval of another one.
	Servers []string

	mu   sync.Mutex
	done []string // servers that were reviewed
}

// Review approves what was approved in advance, and asks the person about all else.
func (a *Approving) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	answers := make([]host.ReviewAnswer, len(reviews))
	var left []host.Review
	var places []int
	for i := range reviews {
		if answers[i].Approve = a.approved(&reviews[i]); !answers[i].Approve {
			left, places = append(left, reviews[i]), append(places, i)
		}
	}
	if len(left) == 0 {
		return answers, nil
	}
	said, err := a.Person.Review(ctx, left)
	for i := range min(len(said), len(places)) {
		answers[places[i]] = said[i]
	}
	return answers, err
}

// byName reports whether the name of a server is enough to approve what it defines.
func byName(r *host.Review) bool { return r.First && strings.LastIndexByte(r.Server, '@') <= 0 }

func (a *Approving) approved(r *host.Review) bool {
	if !byName(r) {
		return slices.Contains(a.Servers, r.Server+"@"+approval.Hash(*r))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.Servers, r.Server) || slices.Contains(a.done, r.Server) {
		return false
	}
	a.done = append(a.done, r.Server)
	return true
}
