package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
)

const (
	defaultWithin = 10 * time.Minute
	// minWithin and maxWithin limit [Rule.Within].
	minWithin = time.Second
	maxWithin = 24 * time.Hour
	// maxFor is the largest [Rule.For].
	maxFor = 24 * time.Hour
)

// An Approval describes who must approve the calls that a rule matches.
type Approval struct {
	Role   string        // name of the role whose callers are asked
	Within time.Duration // how long the call waits
	For    time.Duration // longest time for which an approval allows equal calls, or 0
	Self   bool          // whether callers may approve their own calls
}

// Approval returns the approval that a compiled rule needs. ok is false for a rule without Of.
func (r *Rule) Approval() (a Approval, ok bool) {
	role, ok := strings.CutPrefix(r.Of, ofRole)
	within, _ := time.ParseDuration(r.Within) // Compile has checked both
	longest, _ := time.ParseDuration(r.For)
	return Approval{role, cmp.Or(within, defaultWithin), longest, r.Self}, ok
}

// ofRole begins [Rule.Of].
const ofRole = "role:"

// roleName matches names of roles; package config/settings has the same form.
var roleName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// checkApproval returns the faults of Of and of the fields that go with it.
func (r *Rule) checkApproval() (problems []*Problem) {
	fault := func(field, format string, a ...any) {
		problems = append(problems, &Problem{Field: field, Err: fmt.Errorf(format, a...)})
	}
	role, isRole := strings.CutPrefix(r.Of, ofRole)
	switch {
	case r.Of == "" && (r.Within != "" || r.For != "" || r.Self):
		fault("of", `missing; within, for and self go with "of": "role:NAME"`)
	case r.Of != "" && r.Effect != Ask:
		fault("of", `goes only with the effect "ask"`)
	case r.Of != "" && (!isRole || !roleName().MatchString(role)):
		fault("of", `expected "role:NAME" with the name of a role, got %s`, quote(r.Of))
	}
	for _, one := range []struct {
		name, text  string
		least, most time.Duration
	}{{"within", r.Within, minWithin, maxWithin}, {"for", r.For, minWithin, maxFor}} {
		if d, err := time.ParseDuration(one.text); one.text != "" && (err != nil || d < one.least || d > one.most) {
			fault(one.name, "expected a time from %v to %v, such as 10m, got %s", one.least, one.most, quote(one.text))
		}
	}
	return problems
}

// Approvals returns the rules that ask a role about the call, if the effect is Ask. All these roles
// must approve it. user is set if the client's user must be asked, too.
func (d *Decision) Approvals() (rules []*Rule, user bool) {
	if d.Effect != Ask {
		return nil, false
	}
	for i := range d.Trace {
		s := &d.Trace[i]
		if s.Rule.Effect == Allow || !slices.Contains([]Outcome{Decided, Applies, Failed, NotKnown}, s.Outcome) {
			continue
		}
		if s.Rule.Of != "" {
			rules = append(rules, s.Rule)
		} else {
			user = true
		}
	}
	return rules, user || len(rules) == 0
}
