package guard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Severity is the severity of a finding.
type Severity int

// The severities, in ascending order.
const (
	None  Severity = iota // there is no finding
	Note                  // show it together with the text
	Warn                  // show it to a user before the text is used
	Block                 // keep the text from a model
)

// String returns "none", "note", "warn" or "block".
func (s Severity) String() string {
	return [...]string{"none", "note", "warn", "block"}[s]
}

// A Finding is one suspicious place that a check found in a text.
type Finding struct {
	Rule     string // a stable name such as "secrecy" or "other-server"
	Severity Severity
	Where    string // field of the definition or message, such as "inputSchema.properties.city.description"
	Excerpt  string // the text around the place, on one line that is safe to show; for a secret, its kind
	Why      string // one sentence for a user
}

// Worst returns the highest severity among findings.
func Worst(findings []Finding) Severity {
	worst := None
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Part names the part of the protocol that a scanned text comes from. The same words can be an
// order in a description and a quotation in a document.
type Part int

// The parts of the protocol that carry text.
const (
	InDefinition   Part = iota // of a tool, prompt, resource or template
	InInstructions             // a server's instructions and description
	InResult                   // result of a tool: also errors, notifications, completions
	InResource                 // contents of a resource: a document, which may describe attacks; at most Warn
	InPrompt                   // messages of a prompt
	InElicitation              // a request to the user
	InSampling                 // a request to the model
	InArguments                // outgoing arguments: only secrets and paths to secrets count
)

// Where describes the place of a scanned text.
type Where struct {
	Part   Part
	Server string // server that sent the text
	Field  string // becomes Finding.Where
}

// Thresholds for the sum of the weights of a text's signals.
const (
	warnAt  = 5
	blockAt = 10
)

const (
	// maxText is the number of bytes of one definition or request that are scanned. Text beyond it
	// is reported as too long to check.
	maxText = 1 << 20
	// maxFindings is the maximum number of findings in one definition or request.
	maxFindings = 64
	// maxExcerpt is the maximum length of an excerpt in characters.
	maxExcerpt = 160
)

// A signal is a Finding before its severity is determined.
type signal struct {
	rule, why string
	where     string
	excerpt   string
	weight    int
}

// A report collects the signals of one definition or message.
type report struct {
	signals []signal
	left    int      // number of bytes that may still be scanned
	tooLong bool     // the text was longer
	atMost  Severity // maximum severity of its findings
	simple  bool     // the tool's name suggests that it only computes
	about   []string // texts of the tool's definition
}

func newReport() *report { return &report{left: maxText, atMost: Block} }

// take returns the part of text that may still be scanned.
func (r *report) take(text string, where string) string {
	if len(text) > r.left {
		text = text[:r.left]
		r.cutShort(where, "too long to check: only the first MiB was looked at")
	}
	r.left -= len(text)
	return text
}

// cutShort records, once for a report, that not everything was scanned.
func (r *report) cutShort(where, why string) {
	if !r.tooLong {
		r.tooLong = true
		r.add(signal{rule: "too-long", weight: warnAt, where: where, why: why})
	}
}

// add adds a signal. It keeps only the heaviest signal of a rule for each field. If there are too
// many signals, it keeps the heaviest.
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

// findings converts signals to findings, the worst first. The weights of weak signals of different
// rules add up, and the heaviest of these signals gets the severity of the sum.
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

// excerpt returns the part of text from start to end with the words around it.
func excerpt(text string, start, end int) string {
	const around = 20
	before, after := "", ""
	for end < len(text) && text[end]&0xc0 == 0x80 { // end is inside a character
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
