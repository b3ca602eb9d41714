package guard

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A rule matches ideas in sequence. The pattern "ignore 4 prior 3 orders" matches a word for
// ignoring, one for earlier text at most 4 words later, and one for orders at most 3 words after
// that. An idea written a/b matches either.
type rule struct {
	name   string
	weight int
	why    string
	within parts // parts where the rule applies; 0 means all except outgoing arguments
	steps  []step
}

type step struct {
	ideas ideas
	gap   int // maximum number of words after the previous step
}

// parts is a set of parts.
type parts uint

func partsOf(list ...Part) parts {
	var set parts
	for _, p := range list {
		set |= 1 << p
	}
	return set
}

const (
	// ofSimple selects the definitions of tools whose names suggest that they only compute.
	ofSimple parts = 1 << 15
)

func (p parts) has(at Where, r *report) bool {
	of := parts(1) << at.Part
	switch {
	case p == 0:
		return at.Part != InArguments
	case r.simple && at.Part == InDefinition:
		of |= ofSimple
	}
	return p&of != 0
}

const (
	whyOverride   = "asks the model to ignore its instructions"
	whySecrecy    = "asks the model to keep something from the user"
	whyExfil      = "asks for private files or keys to be passed on"
	whyTalk       = "asks for the conversation or the model's own instructions"
	whySink       = "sends data to somewhere else"
	whyCapability = "names an ability that can only do harm"
	whyMismatch   = "sends data elsewhere, which a tool of this name should not do"
)

// theRules returns the rules, indexed by their first idea and parsed on first use. There are few on
// purpose: in trials, each further rule found only the text it was written for, and the flow of
// data covers other attacks. A table of weights learned from the same attacks was not better. It
// learned to recognize the collection that a text came from, and classified most honest sentences
// of other authors as attacks. Rules are chosen by their results on half 1 of the texts of
// bench/guard and measured on half 2, whose results are in docs/security.md. They must not match
// any text of honest_test.go.
var theRules = sync.OnceValue(func() map[ideas][]*rule {
	described := partsOf(InDefinition, InInstructions)
	guiding := partsOf(InDefinition, InInstructions, InElicitation, InSampling, InPrompt)
	byFirst := map[ideas][]*rule{}
	for _, r := range []struct {
		name    string
		weight  int
		pattern string
		why     string
		within  parts
	}{
		{"override", 10, "ignore 5 prior/every 4 orders/rules", whyOverride, 0},
		{"override", 10, "ignore 4 you/user 3 told/ask", whyOverride, 0},
		{"override", 10, "ignore 3 orders", whyOverride, guiding},
		{"override", 8, "you 4 now/void 3 unbound/follow", whyOverride, 0},
		{"override", 6, "authority/orders/rules 4 prefer", whyOverride, guiding},
		{"secrecy", 10, "not 3 tell 4 user", whySecrecy, 0},
		{"secrecy", 6, "not 4 ask 4 user", whySecrecy, guiding},
		{"exfiltration", 10, "read 8 secretfile 12 send", whyExfil, guiding},
		{"exfiltration", 6, "read/contents/send 10 secretfile", whyExfil, guiding},
		{"exfiltration", 6, "secretfile 8 read/send/param", whyExfil, guiding},
		{"exfiltration", 6, "cred 6 send 4 machine/param", whyExfil, guiding},
		{"exfiltration", 6, "read/contents/away 4 cred/environ 8 send/put", whyExfil, guiding},
		{"exfiltration", 6, "put/send 4 user/environ/every/you/any/contents 4 cred/environ", whyExfil, guiding},
		{"exfiltration", 5, "environ 8 put/send 6 contents/user/you/any/machine", whyExfil, partsOf(InDefinition)},
		{"exfiltration", 5, "put/send 6 environ", whyExfil, partsOf(InDefinition)},
		{"conversation", 8, "put/send/show 4 whole/everything 4 convo/told/tell", whyTalk, described},
		{"conversation", 10, "away/tell/show 6 sysprompt", whyTalk, 0},
		{"sink", 5, "away 8 external", whySink, described},
		{"sink", 6, "away 6 host/remote/external/contents/user", whyMismatch, ofSimple},
		{"capability", 6, "sink", whyCapability, described},
		{"capability", 6, "steal 5 cred/contents", whyCapability, 0},
	} {
		read := &rule{name: r.name, weight: r.weight, why: r.why, within: r.within, steps: readSteps(r.pattern)}
		for first := read.steps[0].ideas; first != 0; first &= first - 1 {
			lowest := first & -first
			byFirst[lowest] = append(byFirst[lowest], read)
		}
	}
	return byFirst
})

// readSteps parses a pattern.
func readSteps(pattern string) []step {
	var steps []step
	gap := 0
	for field := range strings.FieldsSeq(pattern) {
		if n, err := strconv.Atoi(field); err == nil {
			gap = n
			continue
		}
		var wanted ideas
		for name := range strings.SplitSeq(field, "/") {
			idea := theLanguage().names[name]
			if idea == 0 {
				panic(fmt.Sprintf("guard: rule %q: no idea is called %q", pattern, name))
			}
			wanted |= idea
		}
		steps = append(steps, step{ideas: wanted, gap: gap})
	}
	return steps
}

// maxReached is the number of places from which a step of a rule is followed. The nearest ones are
// kept.
const maxReached = 24

// match returns the index of the last word of a match that starts with word i, or -1. It tries the
// nearest words first, and each at most once per step.
func (r *rule) match(words []word, i int) int {
	var reached, next [maxReached]int
	reached[0] = i
	n := 1
	for _, s := range r.steps[1:] {
		found, checked := 0, 0
		for _, from := range reached[:n] {
			for j := max(from+1, checked); j < len(words) && words[j].position-words[from].position <= s.gap; j++ {
				checked = j + 1
				if words[j].ideas&s.ideas != 0 && found < maxReached {
					next[found] = j
					found++
				}
			}
		}
		if n = found; n == 0 {
			return -1
		}
		reached = next
	}
	return reached[0]
}
