package guard

import "strings"

// Scan looks through one text: for orders that are hidden in it or hide
// something from the user, for characters that nobody sees, for what encoded pieces say, for images and links that carry data out, and, where it is a
// definition or instructions, for references to another server's tools. A nil Catalogue knows
// no tools. The gravest finding comes first. Of text beyond 1 MiB a finding says that it was not looked at.
func (c *Catalogue) Scan(text string, at Where) []Finding {
	r := newReport()
	if at.Part == InResource {
		r.atMost = Warn
	}
	c.scanText(r, text, at)
	return r.findings()
}

// scanText adds the signals of one text to a report.
func (c *Catalogue) scanText(r *report, text string, at Where) {
	text = r.take(text, at.Field)
	if text == "" {
		return
	}
	addSecrets(r, text, at)
	if at.Part == InArguments {
		return
	}
	concealed := addHidden(r, text, at)
	layers, all := layersOf(text)
	if !all {
		r.cutShort(at.Field, "has more encoded pieces than are checked")
	}
	for i, l := range layers {
		s := &scan{report: r, layer: l, at: at, bonus: i > 0 || concealed}
		s.orders()
		s.marks()
		s.commands()
		s.links()
		c.addReferences(s)
	}
}

// A scan is one look at one layer of a text.
type scan struct {
	report *report
	layer  layer
	at     Where
	bonus  bool // what is found here was hidden, which nobody does by accident
	words  []word
	done   map[*rule]bool // rules that need not be tried again
}

// add adds a signal at a place of the layer. An order that somebody took the
// trouble to hide needs no second sign.
func (s *scan) add(rule, why string, weight, start, end int) {
	if s.bonus && weight >= 4 {
		weight = blockAt
	}
	if s.layer.how != "" {
		why += " (" + s.layer.how + ")"
	}
	s.report.add(signal{rule: rule, why: why, weight: weight, where: s.at.Field, excerpt: excerpt(s.layer.text, start, end)})
}

// orders looks for the rules of the language.
func (s *scan) orders() {
	language := theLanguage()
	words, mixed := wordsOf(s.layer.text, language.words)
	s.words = words
	if mixed != nil {
		s.report.add(signal{rule: "mixed-script", weight: warnAt, where: s.at.Field, excerpt: excerpt(s.layer.text, mixed[0], mixed[1]),
			why: "a word is written with letters of two scripts that look alike"})
	}
	rules := theRules()
	for i, w := range words {
		for rest := w.ideas; rest != 0; rest &= rest - 1 {
			for _, rule := range rules[rest&-rest] {
				if rule.within.has(s.at.Part, s.report.simple) {
					s.try(rule, i)
				}
			}
		}
	}
}

// try adds a signal if the rule matches at word i.
func (s *scan) try(r *rule, i int) {
	if s.done[r] {
		return
	}
	last := r.match(s.words, i)
	if last < 0 {
		return
	}
	start, end := s.words[i].start, s.words[last].end
	if s.isMention(r, i, last) {
		s.report.add(signal{rule: r.name, weight: 1, where: s.at.Field, excerpt: excerpt(s.layer.text, start, end), why: r.why + ", in a text about such things"})
		return
	}
	if s.done == nil {
		s.done = map[*rule]bool{}
	}
	s.done[r] = true
	s.add(r.name, r.why, r.weight, start, end)
}

// isMention reports whether the words from first to last are about an order and
// none themselves. What was encoded is never a mention.
func (s *scan) isMention(r *rule, first, last int) bool {
	if s.layer.how != "" && s.layer.how != howSplit {
		return false
	}
	if s.isQuotation(first, last) || s.isTold(first) {
		return true
	}
	switch r.name {
	case "secrecy":
		return s.isStatement(first, last) || s.isAdvice(first, last) || s.isMuted(first, last)
	case "conversation":
		return s.isSample(first) || s.isChecked(first) || s.isForbidden(first)
	case "override":
		return s.isStatement(first, last) || s.isChecked(first) || s.isForbidden(first)
	}
	return false
}

// isStatement reports whether the words from first to last say what is, or are one
// case of several: "the manual does not tell", "ignore this mail if you received it by mistake",
// "no way to tell whether the user", "if you do not follow these instructions".
func (s *scan) isStatement(first, last int) bool {
	from := first
	if s.words[first].ideas&theLanguage().names["not"] != 0 {
		const before = 4
		from = max(0, first-before)
	}
	for i := from; i <= last; i++ {
		switch strings.ToLower(s.layer.text[s.words[i].start:s.words[i].end]) {
		case "if", "whether", "unless":
			return true
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
	for _, w := range s.words[first+1 : last] {
		if w.ideas&(names["cred"]|names["key"]) != 0 {
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
	return s.before(first, 3, theLanguage().names["not"]) >= 0
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

// isTold reports whether a result tells what somebody makes a model do, in a
// text about attacks: "the attacker makes a model ignore its orders".
func (s *scan) isTold(first int) bool {
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
	meta := names["meta"]
	const around = 12
	for _, w := range s.words[max(0, first-around):min(len(s.words), last+around+1)] {
		if w.ideas&meta != 0 {
			return true
		}
	}
	return false
}

// has reports whether any word means one of the named ideas.
func (s *scan) has(names ...string) bool {
	var wanted ideas
	for _, name := range names {
		wanted |= theLanguage().names[name]
	}
	for _, w := range s.words {
		if w.ideas&wanted != 0 {
			return true
		}
	}
	return false
}
