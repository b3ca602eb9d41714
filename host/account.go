package host

import (
	"cmp"
	"fmt"
	"sync"
)

// An account counts what a run used, its child conversations included, and knows its
// limits. Calls, and servers that use the model, count at the same time.
type account struct {
	limits Limits
	above  *account // of the run to whose call this one belongs; nil if to none

	mu     sync.Mutex
	totals Totals
	steps  int
}

// use counts what was used. The time above runs by itself.
func (a *account) use(t Totals) {
	for ; a != nil; a, t.Duration = a.above, 0 {
		a.mu.Lock()
		a.totals = a.totals.add(t)
		a.mu.Unlock()
	}
}

// used is what was used so far.
func (a *account) used() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}

// step takes one more request to the model, or says at which limit the run must end: its
// own, or one of those above.
func (a *account) step() (stop, why string) {
	for ; a != nil; a = a.above {
		if stop, why = a.take(); stop != "" {
			return stop, why
		}
	}
	return "", ""
}

func (a *account) take() (stop, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	most, tokens := a.limits, a.totals.Usage.Input+a.totals.Usage.Output
	switch {
	case a.steps >= cmp.Or(most.Steps, defaultSteps):
		return stopSteps, fmt.Sprintf("the run was ended at its limit of requests to the model, %d; ask it to go on", a.steps)
	case most.Tokens > 0 && tokens >= most.Tokens:
		return stopTokens, fmt.Sprintf("the run was ended after %d tokens, of %d allowed", tokens, most.Tokens)
	case most.Money > 0 && a.totals.Cost >= most.Money:
		return stopMoney, fmt.Sprintf("the run was ended after $%.4f, of $%.4f allowed", a.totals.Cost, most.Money)
	}
	a.steps++
	return "", ""
}
