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

// Approving is a person that approved definitions of some servers in advance, without seeing them:
// those of the first time, or exactly one change.
type Approving struct {
	host.Person
	// Servers lists approvals. NAME approves the definitions of a server that is seen for the first
	// time. NAME@HASH approves exactly one review, such as a change. The hash is that of
	// [approval.Hash]. The part after the last @ is always a hash, so that the name of a server
	// cannot equal an approval of another one.
	Servers []string

	mu       sync.Mutex
	done     []string        // lists servers that were reviewed
	withheld map[string]bool // servers with definitions that wait for approval, as there was no user to ask
}

// Withheld returns the servers that the model does not get because there was no user to ask,
// sorted. It also returns the entries of Servers for them that did not apply.
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

// Review approves reviews that were approved in advance, and asks the user about the others.
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

// note stores whether servers are withheld because there was no user to ask.
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

// byName reports whether the name of a server is enough to approve its definitions.
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
