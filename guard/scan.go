package guard

import "strings"

// Scan scans one text for hidden characters, orders, encoded text, and images and links that carry
// data out. In a definition or instructions it also finds references to another server's tools; a
// nil Catalogue has no tools. The worst finding comes first. Text beyond 1 MiB is not scanned,
// which is a finding.
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
	addControls(r, text, at)
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

// A scan is the scan of one layer of a text.
type scan struct {
	report *report
	layer  layer
	at     Where
	bonus  bool // the layer was hidden, which no author does by accident
	words  []word
	done   map[*rule]bool // rules that already found an order
}

// add adds a signal for a place in the layer. In a deliberately hidden layer, one strong signal is
// enough to block.
func (s *scan) add(rule, why string, weight, start, end int) {
	if s.bonus && weight >= 4 {
		weight = blockAt
	}
	if s.layer.how != "" {
		why += " (" + s.layer.how + ")"
	}
	s.report.add(signal{rule: rule, why: why, weight: weight, where: s.at.Field, excerpt: excerpt(s.layer.text, start, end)})
}

// orders applies the rules to the words of the layer.
func (s *scan) orders() {
	words, mixed := wordsOf(s.layer.text)
	s.words = words
	s.secretFiles()
	if mixed != nil {
		s.report.add(signal{rule: "mixed-script", weight: warnAt, where: s.at.Field, excerpt: excerpt(s.layer.text, mixed[0], mixed[1]),
			why: "a word is written with letters of two scripts that look alike"})
	}
	rules := theRules()
	for i, w := range words {
		for rest := w.ideas; rest != 0; rest &= rest - 1 {
			for _, rule := range rules[rest&-rest] {
				if rule.within.has(s.at, s.report) {
					s.try(rule, i)
				}
			}
		}
	}
}

// secretFiles adds the idea "secretfile" to the first words of paths to files with secrets. Public
// keys, samples and harmless files in the same folder as private keys do not count.
func (s *scan) secretFiles() {
	idea, i := theLanguage().names["secretfile"], 0
	eachSecretPath(s.layer.text, func(start, end, until int) bool {
		path := strings.TrimRight(s.layer.text[start:until], ".,;:)\"'`")
		for _, harmless := range []string{".pub", ".example", ".sample", ".template", "ssh/config", "known_hosts", "authorized_keys"} {
			if strings.HasSuffix(path, harmless) {
				return true
			}
		}
		for ; i < len(s.words) && s.words[i].start < start; i++ {
		}
		if i < len(s.words) {
			s.words[i].ideas |= idea
		}
		return true
	})
}

// try adds a signal if r matches at word i.
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
