package guard

import (
	"regexp"
	"strings"
)

// isMention reports whether the words from first to last only mention an order. They may quote,
// narrate, check for or forbid it. Encoded text is never a mention.
func (s *scan) isMention(r *rule, first, last int) bool {
	if s.layer.how != "" && s.layer.how != howSplit {
		return false
	}
	if s.isQuotation(first, last) || s.isNarrated(first) || s.isChecked(first) {
		return true
	}
	switch r.name {
	case "secrecy":
		return s.isCase(first, last) || s.isAdvice(first, last) || s.isWork(first, last) || s.isPromise(first, last)
	case "override":
		return s.isCase(first, last) || s.isForce(first, last) || s.isForbidden(first)
	}
	return s.isForbidden(first)
}

// isQuotation reports whether the words from first to last are quoted in a text about attacks, and
// therefore not an order. The first word may be the "says" before the quotation.
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

// isNarrated reports whether the words belong to a statement about the effect of an attack on a
// model: "the attacker makes a model ignore its orders". Only results qualify.
func (s *scan) isNarrated(first int) bool {
	names := theLanguage().names
	subject := false
	for j := first - 1; s.at.Part == InResult && s.inSentence(j, first, 24); j-- {
		switch of := s.words[j].ideas; {
		case !subject && (of&names["must"] != 0 || strings.ContainsAny(s.between(j), ":!")):
			return false
		case of&names["model"] != 0:
			subject = true
		}
		if subject && s.words[j].ideas&names["attack"] != 0 {
			return true
		}
	}
	return false
}

// isChecked reports whether the preceding words of the clause describe a check ("detects whether a
// prompt tries to …"). A label that introduces a sample also counts.
func (s *scan) isChecked(first int) bool {
	names := theLanguage().names
	if first >= 2 && strings.HasPrefix(s.between(first-1), ":") {
		return s.words[first-1].ideas&names["contents"] != 0 && s.words[first-2].ideas&names["meta"] != 0
	}
	about := names["meta"]
	if first > 0 && strings.EqualFold(s.text(first-1), "to") {
		about |= names["attack"]
	}
	attempt := s.before(first, 6, names["attempt"])
	return attempt >= 0 && s.before(attempt, 6, about) >= 0
}

// isForbidden reports whether the words before first forbid the action. The action may be the last
// item of a list: "never commit, print, or upload …".
func (s *scan) isForbidden(first int) bool {
	not := theLanguage().names["not"]
	if first == 0 || s.before(first, 3, not) >= 0 {
		return first > 0
	}
	for j := first - 2; strings.EqualFold(s.text(first-1), "or") && s.inSentence(j, first, 6); j-- {
		if s.words[j].ideas&not != 0 {
			return true
		}
	}
	return false
}

// isCase reports whether the words from first to last state a fact, a possibility or one case of
// several. Examples are "the manual does not tell", "ignore this mail if you received it by
// mistake" and "models may ignore …". "You may" is an order.
func (s *scan) isCase(first, last int) bool {
	you := theLanguage().names["you"]
	if first > 0 {
		switch strings.ToLower(s.text(first - 1)) {
		case "does", "did":
			return true
		case "may", "might", "can", "could", "would":
			return first < 2 || s.words[first-2].ideas&you == 0
		}
	}
	if s.at.Part == InResult && strings.HasSuffix(s.text(first), "es") && !s.means(first, last, you) {
		return true // a statement about others
	}
	for i := first; i <= last; i++ {
		switch strings.ToLower(s.text(i)) {
		case "if", "whether", "unless":
			return true
		}
	}
	return false
}

// isForced matches words about skipping safety checks by force.
var isForced = regexp.MustCompile(`^[a-z]+ing (all |any |the )?(safety|security) checks?$`)

// isForce reports whether the words describe an option that forces a tool: "with force it goes on,
// bypassing safety checks". The words must begin with a participle, and the sentence must mention
// force before them. It must not address "you" or a model.
func (s *scan) isForce(first, last int) bool {
	names := theLanguage().names
	what := strings.ToLower(s.layer.text[s.words[first].start:s.words[last].end])
	if s.at.Part != InDefinition || !isForced.MatchString(what) || s.means(first, last+3, names["you"]|names["machine"]|names["prior"]) {
		return false
	}
	forced := false
	for j := first - 1; s.inSentence(j, first, 12); j-- {
		if s.words[j].ideas&(names["you"]|names["machine"]|names["must"]) != 0 {
			return false
		}
		forced = forced || strings.EqualFold(s.text(j), "force")
	}
	return forced
}

// isAdvice reports whether the order concerns a password or key: keep it from others, or do not ask
// for it.
func (s *scan) isAdvice(first, last int) bool {
	const after = 4
	names := theLanguage().names
	if s.words[last].ideas&names["user"] != 0 && s.before(last, 4, names["ask"]) >= 0 {
		last = min(len(s.words)-1, last+after)
	}
	for i := first + 1; i < last; i++ {
		switch strings.TrimSuffix(strings.ToLower(s.text(i)), "s") {
		case "key", "token":
			return true
		}
	}
	return s.means(first+1, last-1, names["cred"])
}

// isPromise reports whether a form promises that the user's input stays private: "never shared with
// anyone else". An order to conceal would name the user, or name a subject that must be silent.
func (s *scan) isPromise(first, last int) bool {
	who := strings.ToLower(s.text(last))
	if s.at.Part != InElicitation || who != "anyone" && who != "anybody" {
		return false
	}
	for i := first + 1; i < last; i++ {
		switch strings.ToLower(s.text(i)) {
		case "shared", "disclosed", "revealed":
			return true
		}
	}
	return false
}

// isWork reports whether the text tells the model to do work itself instead of asking the user: "do
// not ask the user to run it". Such a text does not tell it to act without consent.
func (s *scan) isWork(first, last int) bool {
	if last+2 >= len(s.words) || s.words[last+2].position-s.words[last].position != 2 {
		return false
	}
	asks := strings.ToLower(s.layer.text[s.words[first+1].start:s.words[last+1].end])
	return (asks == "ask the user to" || asks == "asking the user to") && s.words[last+2].ideas&theLanguage().names["use"] != 0
}

// text returns word i as written.
func (s *scan) text(i int) string { return s.layer.text[s.words[i].start:s.words[i].end] }

// between returns the text between word i and the next.
func (s *scan) between(i int) string { return s.layer.text[s.words[i].end:s.words[i+1].start] }

// means reports whether any of the words from first to last has one of the ideas. last may be out
// of range.
func (s *scan) means(first, last int, wanted ideas) bool {
	for i := first; i <= last && i < len(s.words); i++ {
		if s.words[i].ideas&wanted != 0 {
			return true
		}
	}
	return false
}

// inSentence reports whether word j is in the same sentence as word i, and at most far words before
// it.
func (s *scan) inSentence(j, i, far int) bool {
	return j >= max(0, i-far) && s.words[j+1].position-s.words[j].position == 1
}

// before returns the index of the nearest word before i with one of the ideas, or -1. The word must
// be in the same clause and at most near words away.
func (s *scan) before(i, near int, wanted ideas) int {
	for j := i - 1; j >= max(0, i-near); j-- {
		if strings.ContainsAny(s.between(j), ",;:.!?\n") {
			return -1
		}
		if s.words[j].ideas&wanted != 0 {
			return j
		}
	}
	return -1
}
