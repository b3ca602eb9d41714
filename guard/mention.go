package guard

import (
	"regexp"
	"slices"
	"strings"
)

// isMention reports whether the words from first to last are about an order and
// none themselves. What was encoded is never a mention.
func (s *scan) isMention(r *rule, first, last int) bool {
	if s.layer.how != "" && s.layer.how != howSplit {
		return false
	}
	if s.isQuotation(first, last) || s.isNarrated(first) || s.isReported(first) || s.isQuestion(first) {
		return true
	}
	switch r.name {
	case "secrecy":
		return s.isStatement(first, last) || s.isAdvice(first, last) || s.isMuted(first, last) || s.isInput(first, last)
	case "conversation":
		return s.isSample(first) || s.isChecked(first) || s.isForbidden(first) || s.isDone(first)
	case "override":
		return s.isStatement(first, last) || s.isChecked(first) || s.isForbidden(first) || s.isPossible(first, last)
	case "exfiltration", "sink":
		return s.isForbidden(first) || s.isExample(first, last) || s.isDone(first)
	case "first":
		return s.isOfOwn(last) || s.isWish(first) || s.isOwnName(first, last)
	}
	return false
}

// isInput reports whether what the user is not to be asked for is something that a tool works
// with, and no consent: "if there is only one version, do not ask the user to select one".
func (s *scan) isInput(first, last int) bool {
	names := theLanguage().names
	if s.words[last].ideas&names["user"] == 0 || s.before(last, 4, names["ask"]) < first || last+1 >= len(s.words) {
		return false
	}
	switch strings.ToLower(s.text(last + 1)) {
	case "to", "for", "which":
	default:
		return false
	}
	const near = 4
	for j := last + 2; j < min(len(s.words), last+2+near) && s.words[j].position-s.words[j-1].position == 1; j++ {
		if s.words[j].ideas&(names["ask"]|names["approved"]|names["know"]) != 0 || agrees[strings.ToLower(s.text(j))] {
			return false
		}
	}
	return true
}

// agrees are what somebody does who consents.
var agrees = map[string]bool{"approve": true, "allow": true, "agree": true, "accept": true, "review": true, "verify": true, "okay": true, "check": true, "decide": true, "sign": true}

// isExample reports whether the words from first to last are in part a quoted example:
// "more headers, e.g. {"authorization": "bearer token"}".
func (s *scan) isExample(first, last int) bool {
	const near = 64
	for _, w := range s.words[first : last+1] {
		if w.quoted {
			return leadsExample.MatchString(s.layer.text[max(0, w.start-near):w.start])
		}
	}
	return false
}

// leadsExample matches what stands before quoted examples.
var leadsExample = regexp.MustCompile(`(?i)\b(?:e\.g\.|such as|for example|for instance|examples?:|like:?)[^.\n]*$`)

// isDone reports whether what first says is done already, or by somebody: "the values that you
// were provided with", "settings supplied by the user".
func (s *scan) isDone(first int) bool {
	if first == 0 || !strings.HasSuffix(strings.ToLower(s.text(first)), "ed") {
		return false
	}
	if first+1 < len(s.words) && strings.EqualFold(s.text(first+1), "by") {
		return true
	}
	switch strings.ToLower(s.text(first - 1)) {
	case "is", "are", "was", "were", "been":
		return true
	}
	return false
}

// isWish reports whether the words before first say that somebody may want what follows:
// "use it if you want to sign in before using other tools".
func (s *scan) isWish(first int) bool {
	const near = 5
	for j := first - 1; j >= max(0, first-near) && s.words[j+1].position-s.words[j].position == 1; j-- {
		switch strings.ToLower(s.text(j)) {
		case "want", "wants", "wish", "wishes":
			return true
		}
	}
	return false
}

// isPossible reports whether somebody may do what the words from first say, or does it:
// "models may ignore …", "it ignores …". That you may is an order, kindly put.
func (s *scan) isPossible(first, last int) bool {
	you := theLanguage().names["you"]
	if (s.at.Part == InResult || s.at.Part == InResource) && strings.HasSuffix(s.text(first), "s") {
		return !slices.ContainsFunc(s.words[first:last+1], func(w word) bool { return w.ideas&you != 0 })
	}
	if first < 2 || s.words[first-2].ideas&you != 0 {
		return false
	}
	switch strings.ToLower(s.text(first - 1)) {
	case "may", "might", "can", "could", "would":
		return true
	}
	return false
}

// isReported reports whether the words before first say, in a sentence about attacks, that
// what follows is what somebody asks for: "signs of poisoning: instructions to read …".
func (s *scan) isReported(first int) bool {
	if first == 0 || !strings.EqualFold(s.text(first-1), "to") {
		return false
	}
	names := theLanguage().names
	const near, far = 3, 14
	asked := false
	for j := first - 2; j >= max(0, first-far) && s.words[j+1].position-s.words[j].position == 1; j-- {
		switch of := s.words[j].ideas; {
		case of&(names["must"]|names["follow"]|names["you"]) != 0:
			return false
		case first-j <= near+1 && of&(names["orders"]|names["attempt"]|names["ask"]) != 0:
			asked = true
		case asked && (of&names["attack"] != 0 || detects[strings.ToLower(s.text(j))]):
			return true
		}
	}
	return false
}

// detects are what a tool does that looks for orders, in the third person: no order itself.
var detects = map[string]bool{"detects": true, "finds": true, "flags": true, "classifies": true, "recognizes": true, "blocks": true, "catches": true, "rejects": true, "reports": true, "refuses": true}

// isQuestion reports whether first stands in a question about how or why something is.
func (s *scan) isQuestion(first int) bool {
	const far = 12
	for j := first - 1; j >= max(0, first-far) && s.words[j+1].position-s.words[j].position == 1; j-- {
		switch strings.ToLower(s.text(j)) {
		case "how", "why", "what":
			const long = 300
			rest := s.layer.text[s.words[first].end:]
			rest = rest[:min(len(rest), long)]
			end := strings.IndexAny(rest, ".!?\n")
			return end >= 0 && rest[end] == '?'
		}
	}
	return false
}

// isOfOwn reports whether the words up to last go on with "of this server": which order its
// own tools are used in, a server may well say.
func (s *scan) isOfOwn(last int) bool {
	const near = 4
	for j := last + 1; j < min(len(s.words), last+1+near) && s.words[j].position-s.words[j-1].position == 1; j++ {
		switch strings.ToLower(s.text(j)) {
		case "this", "our", "same":
			return j+1 < len(s.words) && ownKinds[strings.ToLower(s.text(j+1))]
		case "here":
			return true
		}
	}
	return false
}

// isOwnName reports whether the tools from first to last are called by the name of their
// server: "any GitHub tool" of the server github.
func (s *scan) isOwnName(first, last int) bool {
	tool, server := theLanguage().names["tool"], strings.ToLower(s.at.Server)
	for i := first + 1; i < min(len(s.words), last+3); i++ {
		if s.words[i].ideas&tool == 0 {
			continue
		}
		for j := i - 1; j >= max(0, i-2) && s.words[i].position-s.words[j].position == i-j; j-- {
			if name := strings.ToLower(s.text(j)); len(name) > 3 && s.words[j].ideas == 0 && !ownKinds[name] && strings.Contains(server, name) {
				return true
			}
		}
	}
	return false
}

// ownKinds are words for all that a server offers.
var ownKinds = map[string]bool{"server": true, "toolkit": true, "toolset": true, "suite": true, "plugin": true, "integration": true, "connector": true, "package": true, "api": true, "module": true, "mcp": true, "workflow": true, "collection": true, "group": true}

// text returns a word as it is written.
func (s *scan) text(i int) string { return s.layer.text[s.words[i].start:s.words[i].end] }

// isStatement reports whether the words from first to last say what is, or are one
// case of several: "the manual does not tell", "ignore this mail if you received it by mistake",
// "no way to tell whether the user", "if you do not follow these instructions".
func (s *scan) isStatement(first, last int) bool {
	const before = 4
	from := max(0, first-before)
	if s.words[first].ideas&(theLanguage().names["not"]|theLanguage().names["user"]) == 0 {
		from = first
	}
	const after = 2
	for i := from; i < min(len(s.words), last+1+after); i++ {
		if i > last && s.words[i].position-s.words[i-1].position > 1 {
			break
		}
		switch word := strings.ToLower(s.text(i)); word {
		case "if", "whether", "unless":
			if i <= last || word == "unless" {
				return true
			}
		case "does", "did":
			if i == first-1 {
				return true
			}
		}
	}
	return false
}

// isAdvice reports whether what is to be kept from people, or what they are not to
// be asked for, is a password or key, as it should be.
func (s *scan) isAdvice(first, last int) bool {
	const after = 4
	names := theLanguage().names
	if s.words[last].ideas&names["user"] != 0 && s.before(last, 4, names["ask"]) >= 0 {
		last = min(len(s.words), last+after)
	}
	for i := first + 1; i < last; i++ {
		switch strings.TrimSuffix(strings.ToLower(s.text(i)), "s") {
		case "key", "token":
			return true
		}
		if s.words[i].ideas&names["cred"] != 0 {
			return true
		}
	}
	return false
}

// isSample reports whether a label such as "sample response:" stands before
// first: what follows is what a tool answers, not what a model should do.
func (s *scan) isSample(first int) bool {
	if first < 2 || !strings.HasPrefix(s.layer.text[s.words[first-1].end:], ":") {
		return false
	}
	names := theLanguage().names
	return s.words[first-1].ideas&names["contents"] != 0 && s.words[first-2].ideas&names["meta"] != 0
}

// isChecked reports whether the words before first say, in the same clause,
// that a text is checked for what follows: "detects whether a prompt tries to …".
func (s *scan) isChecked(first int) bool {
	names := theLanguage().names
	attempt := s.before(first, 6, names["attempt"])
	return attempt >= 0 && s.before(attempt, 6, names["meta"]) >= 0
}

// isForbidden reports whether the words before first forbid what follows.
func (s *scan) isForbidden(first int) bool {
	if s.words[first].ideas&theLanguage().names["void"] != 0 {
		return false // "no longer"
	}
	return s.before(first, 3, theLanguage().names["not"]) >= 0 || s.isOneOfForbidden(first)
}

// isOneOfForbidden reports whether first is the last of several things that are forbidden:
// "never commit, print, or upload …".
func (s *scan) isOneOfForbidden(first int) bool {
	const far = 6
	if first == 0 || !strings.EqualFold(s.text(first-1), "or") {
		return false
	}
	for j := first - 2; j >= max(0, first-far) && s.words[j+1].position-s.words[j].position == 1; j-- {
		if s.words[j].ideas&theLanguage().names["not"] != 0 {
			return true
		}
	}
	return false
}

// before returns the index of the nearest of the words before i, at most near
// of them and in the same clause, with one of the ideas; -1 if there is none.
func (s *scan) before(i, near int, wanted ideas) int {
	for j := i - 1; j >= max(0, i-near); j-- {
		if strings.ContainsAny(s.layer.text[s.words[j].end:s.words[j+1].start], ",;:.!?\n") {
			return -1
		}
		if s.words[j].ideas&wanted != 0 {
			return j
		}
	}
	return -1
}

// isMuted reports whether "silently" is said of a notification, which makes no sound.
func (s *scan) isMuted(first, last int) bool {
	const around = 60
	near := strings.ToLower(s.layer.text[max(0, s.words[first].start-around):min(len(s.layer.text), s.words[last].end+around)])
	return s.words[last].ideas&theLanguage().names["secretly"] != 0 && (strings.Contains(near, "notif") || strings.Contains(near, "sound"))
}

// isNarrated reports whether a result tells what somebody makes a model do, in a
// text about attacks: "the attacker makes a model ignore its orders".
func (s *scan) isNarrated(first int) bool {
	if s.at.Part != InResult {
		return false
	}
	subject := s.subject(first, theLanguage().names["model"])
	if subject < 0 {
		return false
	}
	const around = 24
	for _, w := range s.words[max(0, subject-around):first] {
		if w.ideas&theLanguage().names["attack"] != 0 {
			return true
		}
	}
	return false
}

// subject returns the index of the nearest word before i in its sentence with
// one of the ideas, if it is neither called upon ("agents: …") nor has to do something; else -1.
func (s *scan) subject(i int, wanted ideas) int {
	const far = 20
	for j := i - 1; j >= max(0, i-far) && s.words[j+1].position-s.words[j].position == 1; j-- {
		if s.words[j].ideas&wanted == 0 {
			continue
		}
		if strings.ContainsAny(s.layer.text[s.words[j].end:s.words[j+1].start], ",:!-") || s.words[j+1].ideas&theLanguage().names["must"] != 0 {
			return -1
		}
		return j
	}
	return -1
}

// isQuotation reports whether the words from first to last are quoted by
// somebody who writes about attacks, and so are no order: the first may be the
// "says" before the quotation.
func (s *scan) isQuotation(first, last int) bool {
	names := theLanguage().names
	if !s.words[last].quoted || !s.words[first].quoted && s.words[first].ideas&names["tell"] == 0 {
		return false
	}
	const around, farther = 12, 24
	for i := max(0, first-farther); i < min(len(s.words), last+farther+1); i++ {
		if s.words[i].ideas&names["attack"] != 0 || s.words[i].ideas&names["meta"] != 0 && i >= first-around && i <= last+around {
			return true
		}
	}
	return false
}
