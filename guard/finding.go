package guard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Severity says what a finding asks for.
type Severity int

// The severities, mildest first.
const (
	None  Severity = iota // nothing was found
	Note                  // worth showing where the text is shown anyway
	Warn                  // a person should see it before the text is used
	Block                 // the text should not reach a model
)

// String returns "none", "note", "warn" or "block".
func (s Severity) String() string {
	return [...]string{"none", "note", "warn", "block"}[s]
}

// A Finding is one thing that a check saw in a text.
type Finding struct {
	Rule     string // a stable name such as "secrecy" or "other-server"
	Severity Severity
	Where    string // which field of the definition or message, such as "inputSchema.properties.city.description"
	Excerpt  string // the place, as a short line that is safe to show; for a secret, what kind it is
	Why      string // one sentence for a person
}

// Worst returns the gravest severity among findings.
func Worst(findings []Finding) Severity {
	worst := None
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Part says what kind of text is scanned: what is an order in a description
// may be a quotation in a document.
type Part int

// The parts of the protocol that carry text.
const (
	InDefinition   Part = iota // of a tool, prompt, resource or template
	InInstructions             // of a server, and what it says about itself
	InResult                   // of a tool, its errors, notifications, completions
	InResource                 // the contents of a resource: a document, which may describe attacks; at most Warn
	InPrompt                   // the messages of a prompt
	InElicitation              // a question to the user
	InSampling                 // a request to the model
	InArguments                // what is about to leave: only secrets and paths to them count
)

// Where says where a scanned text stands.
type Where struct {
	Part   Part
	Server string // whose text it is
	Field  string // for Finding.Where
}

// The sum of the weights of a text's signals decides.
const (
	warnAt  = 5
	blockAt = 10
)

const (
	// maxText is how many bytes of one definition or request are looked at.
	// What is longer is found to be too long to check.
	maxText = 1 << 20
	// maxFindings is how many findings one definition or request has.
	maxFindings = 64
	// maxExcerpt is how many characters of an excerpt are shown.
	maxExcerpt = 160
)

// A signal is a Finding before its severity is known.
type signal struct {
	rule, why string
	where     string
	excerpt   string
	weight    int
}

// A report gathers the signals of one definition or message.
type report struct {
	signals []signal
	left    int      // how many bytes may still be looked at
	tooLong bool     // there were more
	atMost  Severity // no finding is graver
	simple  bool     // of a tool that only computes, by its name
	about   []string // the texts of a tool's definition
}

func newReport() *report { return &report{left: maxText, atMost: Block} }

// take returns as much of text as may still be looked at.
func (r *report) take(text string, where string) string {
	if len(text) > r.left {
		text = text[:r.left]
		r.cutShort(where, "too long to check: only the first MiB was looked at")
	}
	r.left -= len(text)
	return text
}

// cutShort adds, once, that not everything was looked at.
func (r *report) cutShort(where, why string) {
	if !r.tooLong {
		r.tooLong = true
		r.add(signal{rule: "too-long", weight: warnAt, where: where, why: why})
	}
}

// add keeps a signal, of the same rule the heaviest only for each field; where
// there are too many, the heaviest.
func (r *report) add(s signal) {
	for i, old := range r.signals {
		if old.rule == s.rule && old.where == s.where {
			if s.weight > old.weight {
				r.signals[i] = s
			}
			return
		}
	}
	if len(r.signals) < maxFindings || s.rule == "too-long" {
		r.signals = append(r.signals, s)
		return
	}
	lightest := 0
	for i, old := range r.signals {
		if old.weight < r.signals[lightest].weight {
			lightest = i
		}
	}
	if s.weight > r.signals[lightest].weight {
		r.signals[lightest] = s
	}
}

// findings turns signals into findings, gravest first. Weak signals of
// different rules add up; then the heaviest of them carries the severity.
func (r *report) findings() []Finding {
	if len(r.signals) == 0 {
		return nil
	}
	slices.SortStableFunc(r.signals, func(a, b signal) int { return cmp.Compare(b.weight, a.weight) })
	heaviest := map[string]int{}
	for _, s := range r.signals {
		heaviest[s.rule] = max(heaviest[s.rule], s.weight)
	}
	total := 0
	for _, weight := range heaviest {
		total += weight
	}
	found := make([]Finding, 0, len(r.signals))
	for i, s := range r.signals {
		severity := severityOf(s.weight)
		if i == 0 {
			severity = severityOf(total)
		}
		found = append(found, Finding{Rule: s.rule, Severity: min(severity, r.atMost), Where: s.where, Excerpt: s.excerpt, Why: s.why})
	}
	return found
}

func severityOf(weight int) Severity {
	switch {
	case weight >= blockAt:
		return Block
	case weight >= warnAt:
		return Warn
	}
	return Note
}

// excerpt returns the place from start to end in text with the words around it.
func excerpt(text string, start, end int) string {
	const around = 20
	before, after := "", ""
	for end < len(text) && text[end]&0xc0 == 0x80 { // within a character
		end++
	}
	if from := start - around; from > 0 {
		before = "…"
		if space := strings.IndexByte(text[from:start], ' '); space >= 0 {
			start = from + space + 1
		}
	} else {
		start = 0
	}
	if to := end + around; to < len(text) {
		after = "…"
		if space := strings.LastIndexByte(text[end:to], ' '); space >= 0 {
			end += space
		}
	} else {
		end = len(text)
	}
	return plaintext.Line(before+Visible(text[start:end])+after, maxExcerpt)
}
