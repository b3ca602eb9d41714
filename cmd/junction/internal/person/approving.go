package person

import (
	"context"
	"errors"
	"maps"
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

	mu       sync.Mutex
	done     []string        // servers that were reviewed
	withheld map[string]bool // servers of which something waits for approval, as nobody could be asked
}

// Withheld returns the servers that the model does not get as nobody could be asked about what they define, sorted, and those of Servers
// that are of them and did not apply.
func (a *Approving) Withheld() (servers, without []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	servers = slices.Sorted(maps.Keys(a.withheld))
	for _, given := range a.Servers {
		name := given
		if at := strings.LastIndexByte(given, '@'); at > 0 {
			name = given[:at]
		}
		if a.withheld[name] || a.withheld[given] {
			without = append(without, given)
		}
	}
	return servers, without
}

// Review approves what was approved in advance, and asks the person about all else.
func (a *Approving) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	answers := make([]host.ReviewAnswer, len(reviews))
	var left []host.Review
	var places []int
	a.note(reviews, false)
	for i := range reviews {
		if answers[i].Approve = a.approved(&reviews[i]); !answers[i].Approve {
			left, places = append(left, reviews[i]), append(places, i)
		}
	}
	if len(left) == 0 {
		return answers, nil
	}
	said, err := a.Person.Review(ctx, left)
	a.note(left, errors.Is(err, host.ErrNobody))
	for i := range min(len(said), len(places)) {
		answers[places[i]] = said[i]
	}
	return answers, err
}

// note notes of servers whether nobody could be asked about them.
func (a *Approving) note(reviews []host.Review, withheld bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range reviews {
		if delete(a.withheld, r.Server); !withheld {
			continue
		}
		if a.withheld == nil {
			a.withheld = map[string]bool{}
		}
		a.withheld[r.Server] = true
	}
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
