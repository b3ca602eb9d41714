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

// Approving is a user who approved definitions of some servers in advance. An approval applies to
// all definitions of a new server, or to exactly one change.
type Approving struct {
	host.Person
	// Servers lists the approvals. NAME approves the definitions of a server that is seen for the
	// first time. NAME@HASH approves exactly one review, with the hash of [approval.Hash]. Text
	// after the last @ is always a hash, so that the name of a server cannot equal an approval for
	// another server.
	Servers []string

	mu       sync.Mutex
	done     []string        // servers that have been reviewed
	withheld map[string]bool // servers with definitions that were not approved because no user could be asked
}

// Withheld returns the servers that were hidden from the model because no user could be asked,
// sorted by name. The second result lists the entries of Servers that named them but did not apply.
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

// Review approves the reviews that were approved in advance, and asks the user about all others.
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

// note records whether servers are withheld because no user could be asked.
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

// byName reports whether the name of a server is sufficient to approve its definitions.
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
