package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Severity says how much a finding matters.
type Severity int

// The severities, mildest first.
const (
	Note    Severity = iota + 1 // would make the server better
	Warning                     // some models or clients will do worse
	Error                       // something cannot work, or must not be
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	if s < Note || s > Error {
		return fmt.Sprintf("severity %d", int(s))
	}
	return [...]string{"note", "warning", "error"}[s-Note]
}

// MarshalText returns what String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	for known := Note; known <= Error; known++ {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity: expected note, warning or error, got %q", plaintext.Line(string(text), 40))
}

// A Kind says what a finding is about.
type Kind string

// The kinds.
const (
	OfServer   Kind = "server"
	OfTool     Kind = "tool"
	OfPrompt   Kind = "prompt"
	OfResource Kind = "resource"
	OfTemplate Kind = "template"
)

// A Finding is one thing that is wrong with a server. Its texts are one line each, and safe
// to print.
type Finding struct {
	Rule     string   `json:"rule"` // its name
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Name     string   `json:"name,omitempty"`  // of the tool or prompt, the URI of a resource, or a template
	Field    string   `json:"field,omitempty"` // such as inputSchema.properties.city
	What     string   `json:"what"`
	Remedy   string   `json:"remedy"`
}

// String is the finding without its remedy, on one line.
func (f Finding) String() string {
	where := string(f.Kind)
	if f.Name != "" {
		where += " " + f.Name
	}
	if f.Field != "" {
		where += ", " + f.Field
	}
	return fmt.Sprintf("%s: %s: %s (%s)", f.Severity, where, f.What, f.Rule)
}

// Worst returns the gravest severity among findings; 0 if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity(0)
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// What is shown of texts of a server, in characters.
const (
	maxShownName  = 120
	maxShownField = 160
	maxShownText  = 400
)

// A report gathers findings.
type report struct {
	found     []Finding
	at        Finding // what is looked at
	compiled  int     // bytes of schemas, for values
	described int     // bytes of schemas, for descriptions
}

// add adds a finding about a field of what is looked at.
func (r *report) add(rule string, s Severity, field, what, remedy string) {
	if len(r.found) >= maxFindings {
		return
	}
	f := r.at
	f.Rule, f.Severity, f.Remedy = rule, s, plaintext.Line(remedy, maxShownText)
	f.Field, f.What = plaintext.Line(field, maxShownField), plaintext.Line(what, maxShownText)
	r.found = append(r.found, f)
}

// about says what the next findings are about.
func (r *report) about(kind Kind, name string) {
	r.at = Finding{Kind: kind, Name: plaintext.Line(name, maxShownName)}
}
