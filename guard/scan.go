package guard

import (
	"math/bits"
	"regexp"
	"strings"
)

// Scan looks through one text: for orders that are hidden in it or hide
// something from the user, for characters that nobody sees, for what encoded pieces say, and, where it is a
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
	for i, l := range layersOf(text) {
		s := &scan{report: r, layer: l, at: at, bonus: i > 0 || concealed}
		s.orders()
		s.marks()
		s.commands()
		if i == 0 {
			c.addReferences(s)
		}
	}
}

// A scan is one look at one layer of a text.
type scan struct {
	report *report
	layer  layer
	at     Where
	bonus  bool // what is found here was hidden, which nobody does by accident
	words  []word
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
				if rule.within.has(s.at.Part) {
					s.try(rule, i)
				}
			}
		}
	}
}

// try adds a signal if the rule matches at word i.
func (s *scan) try(r *rule, i int) {
	last := r.match(s.words, i)
	if last < 0 {
		return
	}
	start, end := s.words[i].start, s.words[last].end
	if s.isMention(r, i, last) {
		s.report.add(signal{rule: r.name, weight: 2, where: s.at.Field, excerpt: excerpt(s.layer.text, start, end), why: r.why + ", in a text about such things"})
		return
	}
	s.add(r.name, r.why, r.weight, start, end)
}

// isMention reports whether the words from first to last are about an order and
// none themselves. What was encoded is never a mention.
func (s *scan) isMention(r *rule, first, last int) bool {
	if s.layer.how != "" && s.layer.how != howSplit {
		return false
	}
	if r.name != "override" && r.name != "conversation" {
		return s.isQuotation(first, last)
	}
	if r.name == "conversation" && s.isSample(first) {
		return true
	}
	return s.isQuotation(first, last) || s.isChecked(first) || s.isForbidden(first) || s.isTold(first, last)
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
	attempt := s.before(first, 4, names["attempt"])
	return attempt >= 0 && s.before(attempt, 5, names["check"]) >= 0
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

// isTold reports whether somebody tells of an attack: its instructions, said in
// a document with a word for attacks around.
func (s *scan) isTold(first, last int) bool {
	if s.at.Part != InResult && s.at.Part != InResource {
		return false
	}
	names := theLanguage().names
	const around = 40
	theirs, attack := false, false
	for j := max(0, first-around); j < min(len(s.words), last+around); j++ {
		attack = attack || s.words[j].ideas&names["attack"] != 0
		theirs = theirs || j > first && j < last && s.words[j].ideas&names["theirs"] != 0
	}
	return theirs && attack
}

// isQuotation reports whether the words from first to last are quoted by
// somebody who writes about attacks, and so are no order.
func (s *scan) isQuotation(first, last int) bool {
	if !s.words[first].quoted || !s.words[last].quoted {
		return false
	}
	meta := theLanguage().names["meta"]
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

var (
	authorityTag = regexp.MustCompile(`(?i)^(?:<\s*/?\s*(?:important|system|secret|hidden|admin|critical|instructions?|developer|sys|priority|override|assistant)[^<>]{0,40}>|<\|\s*(?:im_start|im_end|system|assistant|user)[^<>]{0,10}\|>|<<\s*sys\s*>>)`)
	authorityTab = regexp.MustCompile(`(?i)^\[\s*/?\s*(?:system|inst|admin|important instructions?|system (?:prompt|message|override|note|instructions?))\s*\]`)
	heading      = regexp.MustCompile(`(?i)^#{1,6}\s*(?:system|new instructions?)\b`)
	emptiness    = regexp.MustCompile(`[ \t]{60,}\S|(?:\n\s*){12,}\S`)
)

// marks looks for markup that gives a text more authority than it has, or
// moves a part of it out of sight.
func (s *scan) marks() {
	text := s.layer.text
	s.authority("<", authorityTag, 6)
	s.authority("[", authorityTab, 4)
	s.authority("#", heading, 4)
	if s.at.Part == InResult || s.at.Part == InResource {
		return
	}
	if start := strings.Index(text, "<!--"); start >= 0 {
		s.add("comment", "has a part that only a model reads, as a comment", 3, start, min(len(text), start+maxExcerpt))
	}
	if strings.Contains(text, "\n\n") || strings.Contains(text, "          ") || strings.Contains(text, "\t\t\t\t") {
		if at := emptiness.FindStringIndex(text); at != nil {
			s.add("emptiness", "has a part that is moved out of sight with white space", 3, at[0], at[1])
		}
	}
}

// authority looks for markup that starts with sign and is found by pattern,
// which is less in what may be a document than in a definition or question.
func (s *scan) authority(sign string, pattern *regexp.Regexp, inDocument int) {
	const long = 80
	text := s.layer.text
	for i := 0; ; i++ {
		next := strings.Index(text[i:], sign)
		if next < 0 {
			return
		}
		i += next
		at := pattern.FindStringIndex(text[i:min(len(text), i+long)])
		if at == nil || s.isCode(i) {
			continue
		}
		s.add("authority-tag", "is marked up as a message of the system", s.weigh(blockAt, inDocument), i, i+at[1])
		return
	}
}

// isCode reports whether a place in a document is in a block of code or quoted as code.
func (s *scan) isCode(i int) bool {
	if s.at.Part != InResource && s.at.Part != InResult || s.layer.how != "" {
		return false
	}
	return i > 0 && s.layer.text[i-1] == '`' || strings.Count(s.layer.text[:i], "```")%2 == 1
}

// weigh returns the weight in a definition or question, or that in anything else.
func (s *scan) weigh(definition, other int) int {
	switch s.at.Part {
	case InResult, InResource, InPrompt:
		return other
	}
	return definition
}

var shell = regexp.MustCompile(`(?i)\b(curl|wget)\b[^|\n]{0,200}\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|\brm\s+-(rf|fr|r\s+-f)\s+\S|/dev/tcp/|\bbash\s+-i\s+>&|\bnc\s+(-\w+\s+)*-e\b|base64\s+(-d|--decode)[^|\n]{0,40}\|\s*(ba|z)?sh\b|powershell[^\n]{0,40}\s-e(nc|ncodedcommand)\b`)

// shellSigns are parts of every text in which shell matches.
var shellSigns = []string{"curl", "wget", "rm -", "/dev/tcp", "bash -i", "nc -", "base64 -", "powershell"}

// commands looks for command lines that destroy, or run what comes from
// elsewhere. In the open they are for a person to judge.
func (s *scan) commands() {
	if s.at.Part == InResource || s.at.Part == InResult && s.layer.how == "" {
		return
	}
	lower := s.layer.text
	if s.layer.how != "" {
		s.decodedCommand(lower)
	}
	for _, sign := range shellSigns {
		if strings.Contains(lower, sign) {
			if at := shell.FindStringIndex(lower); at != nil {
				s.add("command", "has a command line that destroys, or runs what comes from elsewhere", 6, at[0], at[1])
			}
			return
		}
	}
}

var fetcher = regexp.MustCompile(`(?i)\b(curl|wget|invoke-webrequest|iwr|powershell|bash|sh|nc|eval|exec|python3?|chmod|ssh|scp)\s+\S`)

// decodedCommand looks for any command line, since nobody encodes an honest one.
func (s *scan) decodedCommand(text string) {
	if at := fetcher.FindStringIndex(text); at != nil {
		s.add("command", "has a command line", 6, at[0], at[1])
	}
}

// addHidden adds signals for hidden characters, and reports whether some stand
// where only somebody who hides something puts them.
func addHidden(r *report, text string, at Where) (concealed bool) {
	if !hasHidden(text) {
		return false
	}
	kinds := hiddenKinds(text)
	if kinds == 0 {
		return false
	}
	weight := 2
	switch {
	case kinds&(hiddenTags) != 0:
		weight = warnAt + 1
	case at.Part != InResult && at.Part != InResource || kinds&hiddenInside != 0 && bits.OnesCount(uint(kinds)) > 2:
		weight = warnAt
	}
	r.add(signal{rule: "hidden-characters", weight: weight, where: at.Field, excerpt: hiddenExcerpt(text), why: "has characters that a person does not see"})
	return true
}

type hiddenKind uint

const (
	hiddenTags   hiddenKind = 1 << iota // tag characters
	hiddenInside                        // inside a word
	hiddenOrder                         // changes the direction of text
	hiddenOther
)

// hiddenKinds says what kinds of hidden characters text has.
func hiddenKinds(text string) hiddenKind {
	var kinds hiddenKind
	position := 0
	eachHidden(text, func(part string, hidden bool) {
		start := position
		position += len(part)
		switch {
		case !hidden || part == "\ufeff" && start == 0:
			return
		case isTag([]rune(part)[0]):
			kinds |= hiddenTags
		case strings.ContainsAny(part, "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"):
			kinds |= hiddenOrder
		default:
			kinds |= hiddenOther
		}
		if start > 0 && position < len(text) && isLetter(text[start-1]) && isLetter(text[position]) {
			kinds |= hiddenInside
		}
	})
	return kinds
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func hiddenExcerpt(text string) string {
	found, position, result := false, 0, ""
	eachHidden(text, func(part string, hidden bool) {
		if hidden && !found {
			found, result = true, excerpt(text, position, position+min(len(part), 80))
		}
		position += len(part)
	})
	return result
}
