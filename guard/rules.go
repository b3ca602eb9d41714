package guard

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A rule finds ideas that follow each other: "ignore 4 prior 3 orders" is a
// word for ignoring, within 4 words one for what came before, and within 3 of that one for orders.
// An idea written a/b is either. "{approved user not} 12" is a sentence with three words for these in any
// order, the last at most 12 words after the first; the rarest is written first, as it is looked for.
type rule struct {
	name   string
	weight int
	why    string
	within parts // where it counts; 0 is everywhere but in outgoing arguments
	steps  []step
	span   int // of ideas in any order; 0 where they follow each other
}

type step struct {
	ideas ideas
	gap   int // how many words after the step before, at most
}

// parts is a set of parts.
type parts uint

func in(list ...Part) parts {
	var set parts
	for _, p := range list {
		set |= 1 << p
	}
	return set
}

const (
	// ofSimple is the definitions of tools that only compute, by their names.
	ofSimple parts = 1 << 15
	// ofFault is errors, which are no documents.
	ofFault parts = 1 << 14
)

func (p parts) has(at Where, r *report) bool {
	part := at.Part
	switch p {
	case 0:
		return part != InArguments
	case ofSimple:
		return r.simple && part == InDefinition
	case ofFault:
		return r.fault && part == InResult
	}
	return p&(1<<part) != 0
}

const (
	whyOverride   = "asks the model to put aside what it was told"
	whySecrecy    = "asks the model to keep something from the user"
	whyFirst      = "makes itself a condition of using other tools"
	whyExfil      = "asks for private files or keys to be passed on"
	whyTalk       = "asks for the conversation or the model's own instructions"
	whyAuthority  = "speaks with the voice of the system or the user"
	whySink       = "sends data to somewhere else"
	whyCapability = "names an ability that only harms"
	whyMismatch   = "goes for files, keys or other machines, which a tool of this name has no business with"
)

// theRules are read at their first use, sorted by the first idea.
var theRules = sync.OnceValue(func() map[ideas][]*rule {
	described := in(InDefinition, InInstructions)
	guiding := in(InDefinition, InInstructions, InElicitation, InSampling, InPrompt)
	byFirst := map[ideas][]*rule{}
	for _, r := range []struct {
		name    string
		weight  int
		pattern string
		why     string
		within  parts
	}{
		{"override", 10, "ignore 5 prior 4 orders/rules", whyOverride, 0},
		{"override", 10, "ignore 4 every 3 orders", whyOverride, 0},
		{"override", 10, "ignore 4 every 3 rules", whyOverride, guiding},
		{"override", 10, "ignore 3 orders", whyOverride, guiding},
		{"override", 4, "ignore 4 sysprompt/orders", whyOverride, 0},
		{"override", 10, "ignore 3 everything 4 prior/you", whyOverride, 0},
		{"override", 10, "ignore 3 orders/rules 4 prior/you", whyOverride, 0},
		{"override", 10, "ignore 4 you/user 3 told", whyOverride, 0},
		{"override", 8, "ignore 3 user 1 ask", whyOverride, 0},
		{"override", 10, "not 2 follow 5 prior/user 4 orders/rules", whyOverride, 0},
		{"override", 10, "not 2 follow 3 orders/rules 4 prior", whyOverride, 0},
		{"override", 8, "prior 2 orders/rules 5 void", whyOverride, 0},
		{"override", 8, "orders/rules 6 authority/user/you 5 void", whyOverride, guiding},
		{"override", 6, "{void ask/every orders/rules/ask you/now/approved} 14", whyOverride, guiding},
		{"override", 8, "{prefer orders/rules/ours user/authority/you} 9", whyOverride, guiding},
		{"override", 10, "you 4 now 4 unbound/devmode", whyOverride, 0},
		{"override", 6, "you 2 unbound", whyOverride, in(InSampling, InPrompt)},
		{"override", 8, "you 4 model 4 unbound", whyOverride, 0},
		{"override", 8, "takeover", whyOverride, guiding},
		{"override", 6, "takeover", whyOverride, 0},
		{"override", 8, "{void follow you} 10", whyOverride, 0},
		{"override", 6, "you 2 orders/rules 4 void", whyOverride, 0},
		{"override", 6, "orders 5 void", whyOverride, guiding},
		{"override", 8, "every 2 rules 4 void", whyOverride, guiding},
		{"override", 6, "new 1 orders 8 you/must/model/follow", whyOverride, in(InResult, InResource)},
		{"override", 8, "enter 4 unbound", whyOverride, 0},
		{"override", 6, "follow 2 everything 4 ours", whyOverride, 0},
		{"override", 3, "new 1 rules", whyOverride, in(InResult)},
		{"override", 4, "new 1 orders", whyOverride, 0},
		{"override", 6, "from 2 now 2 you 2 must", whyOverride, 0},

		{"secrecy", 10, "not 3 tell 4 user", whySecrecy, 0},
		{"secrecy", 6, "not 3 tell 9 user", whySecrecy, guiding},
		{"secrecy", 4, "not 3 show 4 user", whySecrecy, guiding},
		{"secrecy", 6, "{instead user ask tell} 8", whySecrecy, guiding},
		{"secrecy", 6, "{ask machine use not} 14", whySecrecy, guiding},
		{"secrecy", 8, "{secretly away} 6", whySecrecy, 0},
		{"secrecy", 6, "{secretly read/send/use} 7", whySecrecy, guiding},
		{"secrecy", 6, "secretly 3 know", whySecrecy, guiding},
		{"secrecy", 6, "{machine must not tell} 14", whySecrecy, in(InResult, InResource)},
		{"secrecy", 6, "not 4 ask 4 user", whySecrecy, guiding},
		{"secrecy", 5, "not 1 ask 2 user", whySecrecy, 0},
		{"secrecy", 8, "not 2 tell 5 you 2 read/send/contents", whySecrecy, guiding},
		{"secrecy", 6, "{approved user not/ignore} 12", whySecrecy, 0},
		{"secrecy", 6, "not 1 tell 1 ours", whySecrecy, guiding},
		{"secrecy", 6, "user 4 approved 12 away", whySecrecy, in(InResult, InResource)},
		{"secrecy", 6, "user 3 not 2 must 4 told/know", whySecrecy, guiding},
		{"secrecy", 6, "approved 3 user 6 tell/away", whySecrecy, in(InResult, InResource)},
		{"secrecy", 6, "{secretly user you} 6", whySecrecy, 0},
		{"secrecy", 8, "user 5 not 3 know", whySecrecy, 0},
		{"secrecy", 8, "not 3 user 3 know", whySecrecy, 0},
		{"secrecy", 8, "user 5 keep 2 hidden", whySecrecy, guiding},
		{"secrecy", 6, "tell 1 not 4 user", whySecrecy, guiding},
		{"secrecy", 8, "keep 4 hidden 3 user", whySecrecy, 0},
		{"secrecy", 8, "keep 8 from 2 user", whySecrecy, guiding},
		{"secrecy", 8, "keep 4 from 2 user", whySecrecy, 0},

		{"first", 6, "before 4 use 3 any 3 tool", whyFirst, guiding},
		{"first", 8, "must 4 use 6 before 3 any 2 tool", whyFirst, 0},
		{"first", 6, "before 4 any 1 any 1 tool", whyFirst, described},
		{"first", 6, "after 2 any 3 tool/use 8 use/send", whyFirst, described},
		{"first", 6, "any 1 any 1 tool 4 fail", whyFirst, described},
		{"first", 6, "not 1 tool 3 use", whyFirst, described},
		{"first", 6, "before 2 contents 3 any/ours/user 6 use", whyFirst, in(InDefinition, InInstructions, InResult)},
		{"first", 5, "contents 8 any 1 tool 4 must 3 use/send", whyFirst, described},
		{"first", 6, "use 5 instead 3 any 4 tool", whyFirst, described},
		{"first", 6, "not/ignore 2 use 3 any 1 tool", whyFirst, described},
		{"first", 6, "ignore 2 any 3 tool", whyFirst, described},
		{"first", 6, "tool 2 any 1 host 8 fail/not/ignore/send/ask", whyFirst, described},

		{"exfiltration", 10, "secretfile 14 send 8 param/external/remote", whyExfil, 0},
		{"exfiltration", 10, "read 8 secretfile 12 send", whyExfil, guiding},
		{"exfiltration", 8, "send 10 secretfile", whyExfil, guiding},
		{"exfiltration", 8, "away 10 secretfile", whyExfil, 0},
		{"exfiltration", 6, "read/contents 6 secretfile", whyExfil, guiding},
		{"exfiltration", 6, "secretfile 5 read", whyExfil, guiding},
		{"exfiltration", 6, "secretfile 8 param", whyExfil, guiding},
		{"exfiltration", 8, "away 5 cred/environ 8 host/remote/external", whyExfil, 0},
		{"exfiltration", 6, "put/send 4 user/environ/every 3 cred", whyExfil, described},
		{"exfiltration", 6, "read 4 environ 6 put/send", whyExfil, described},
		{"exfiltration", 5, "{environ put/send contents/user/you/any} 10", whyExfil, in(InDefinition)},
		{"exfiltration", 6, "put/send 3 contents 6 cred/environ/secretfile", whyExfil, described},
		{"exfiltration", 6, "{cred/environ/secretfile machine send/put} 16", whyExfil, guiding},
		{"exfiltration", 6, "read 9 secretfile 8 send", whyExfil, in(InResult, InResource)},
		{"exfiltration", 6, "{cred/secretfile/environ put/send/ask user/retry/param/machine/contents} 16", whyExfil, ofFault},
		{"exfiltration", 6, "contents 3 secretfile", whyExfil, ofFault},
		{"authority", 6, "machine 4 must 4 use/read/send/ignore/show", whyAuthority, ofFault},
		{"exfiltration", 6, "read/contents/away 4 cred 8 send/put", whyExfil, guiding},
		{"exfiltration", 6, "put/send 6 cred/secretfile 10 retry/param", whyExfil, in(InResult, InResource)},
		{"exfiltration", 6, "machine 8 must 4 read/send 6 cred/environ/secretfile", whyExfil, in(InResult, InResource)},
		{"exfiltration", 6, "ask 4 user 6 cred 8 send", whyExfil, in(InResult, InResource)},
		{"exfiltration", 6, "put/send 4 user 3 cred", whyExfil, in(InResult, InResource, InSampling, InPrompt)},

		{"sink", 6, "{external machine must/tell/ask} 14", whySink, in(InResult, InResource)},
		{"sink", 6, "must 5 put/send 6 external", whySink, described},
		{"sink", 5, "away 8 external", whySink, described},
		{"sink", 4, "away 8 remote 3 host", whySink, described},

		{"conversation", 6, "show/tell 2 everything 2 prior", whyTalk, 0},
		{"conversation", 8, "show/tell 5 whole 3 convo", whyTalk, in(InSampling, InPrompt)},
		{"conversation", 6, "put/send 3 everything 4 told/tell", whyTalk, described},
		{"conversation", 10, "{convo whole put/send/use param/host/external/remote} 14", whyTalk, 0},
		{"conversation", 8, "put/send 4 whole 3 convo", whyTalk, 0},
		{"conversation", 10, "put/send 4 convo 2 log 8 param/host/external/remote", whyTalk, 0},
		{"conversation", 3, "you/prior 3 sysprompt", whyTalk, described},
		{"conversation", 4, "whole 3 convo", whyTalk, described},
		{"conversation", 8, "everything 4 user 4 told/tell", whyTalk, guiding},
		{"conversation", 8, "you 3 orders/rules 6 param/told", whyTalk, guiding},
		{"conversation", 10, "away/tell/show 6 sysprompt", whyTalk, 0},
		{"conversation", 10, "put/send 4 prior/whole/you 4 sysprompt", whyTalk, 0},
		{"conversation", 8, "tell/send/show 3 prior/hidden 2 orders", whyTalk, guiding},
		{"conversation", 6, "orders/rules 3 authority 3 you", whyTalk, described},
		{"conversation", 6, "host 6 follow/send 3 convo", whyTalk, in(InResult, InResource)},
		{"conversation", 6, "prior 2 log 4 convo", whyTalk, in(InSampling, InPrompt)},
		{"conversation", 6, "you 2 sysprompt", whyTalk, in(InSampling)},
		{"conversation", 6, "{log model/you must put/send} 12", whyTalk, described},
		{"conversation", 8, "put/send/show 3 you 3 hidden 2 orders/rules", whyTalk, guiding},

		{"authority", 6, "authority 1 notice 6 must/ignore/use", whyAuthority, guiding},
		{"authority", 4, "authority 1 notice 6 must/ignore/use", whyAuthority, 0},
		{"authority", 6, "notice 3 authority 4 machine/model", whyAuthority, 0},
		{"authority", 3, "model 4 must 3 use/read/send/ignore", whyAuthority, 0},

		{"exfiltration", 5, "{cred/secretfile put/send/read/show/away user/you/machine/any/whole} 12", whyExfil, in(InSampling, InPrompt)},
		{"exfiltration", 6, "{cred send} 12", whyMismatch, ofSimple},
		{"exfiltration", 6, "read 6 cred/environ", whyMismatch, ofSimple},
		{"sink", 6, "external", whyMismatch, ofSimple},
		{"sink", 6, "away 6 host/remote/external/contents/user", whyMismatch, ofSimple},
		{"command", 6, "use/read 6 shell", whyMismatch, ofSimple},
		{"exfiltration", 6, "secretfile", whyMismatch, ofSimple},
		{"capability", 6, "sink", whyCapability, described},
		{"capability", 6, "steal 5 cred/contents", whyCapability, 0},
	} {
		read := &rule{name: r.name, weight: r.weight, why: r.why, within: r.within, steps: readSteps(r.pattern)}
		if strings.HasPrefix(r.pattern, "{") {
			read.span = readSpan(r.pattern)
		}
		for first := read.steps[0].ideas; first != 0; first &= first - 1 {
			lowest := first & -first
			byFirst[lowest] = append(byFirst[lowest], read)
		}
	}
	return byFirst
})

// readSpan returns the number at the end of a pattern in any order.
func readSpan(pattern string) int {
	n, err := strconv.Atoi(pattern[strings.LastIndexByte(pattern, ' ')+1:])
	if err != nil {
		panic(fmt.Sprintf("guard: rule %q has no span", pattern))
	}
	return n
}

// readSteps reads a pattern.
func readSteps(pattern string) []step {
	var steps []step
	gap := 0
	for _, field := range strings.Fields(strings.NewReplacer("{", "", "}", "").Replace(pattern)) {
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

// maxReached is how many places a step of a rule is followed to; the nearest count.
const maxReached = 24

// match returns the indexes of the first and last word of an occurrence that starts with
// the word at i, or has it for its first idea, if the order is any; -1 if there is none. The
// nearest words are tried first, and each at most once a step.
func (r *rule) match(words []word, i int) (first, last int) {
	if r.span > 0 {
		return r.matchAnyOrder(words, i)
	}
	return i, r.matchInOrder(words, i)
}

func (r *rule) matchInOrder(words []word, i int) int {
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

// matchAnyOrder is match for ideas in any order, each in a word of its own, the nearest to i.
func (r *rule) matchAnyOrder(words []word, i int) (first, last int) {
	first, last = i, i
	seen := uint(1)
	for away := 1; away <= r.span && seen != 1<<len(r.steps)-1; away++ {
		before, after := i-away, i+away
		if before >= 0 && words[i].position-words[before].position == away && r.take(words[before].ideas, &seen) {
			first = before
		}
		if after < len(words) && words[after].position-words[i].position == away && r.take(words[after].ideas, &seen) {
			last = after
		}
	}
	if seen != 1<<len(r.steps)-1 || last-first > r.span {
		return -1, -1
	}
	return first, last
}

// take marks the first step that is not seen yet and has one of the ideas.
func (r *rule) take(of ideas, seen *uint) bool {
	for k, s := range r.steps {
		if *seen&(1<<k) == 0 && of&s.ideas != 0 {
			*seen |= 1 << k
			return true
		}
	}
	return false
}
