package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Severity is the importance of a finding.
type Severity int

// The severities, lowest first.
const (
	Note    Severity = iota + 1 // the server works but could be better
	Warning                     // some models or clients work less well
	Error                       // something cannot work, or is forbidden
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	if s < Note || s > Error {
		return fmt.Sprintf("severity %d", int(s))
	}
	return [...]string{"note", "warning", "error"}[s-Note]
}

// MarshalText returns s.String().
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the result of MarshalText.
func (s *Severity) UnmarshalText(text []byte) error {
	for known := Note; known <= Error; known++ {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity: expected note, warning or error, got %q", plaintext.Line(string(text), 40))
}

// A Kind is the kind of definition that a finding is about.
type Kind string

// The kinds.
const (
	OfServer   Kind = "server"
	OfTool     Kind = "tool"
	OfPrompt   Kind = "prompt"
	OfResource Kind = "resource"
	OfTemplate Kind = "template"
)

// A Finding is one fault of a server. Each of its texts is one line and safe to print.
type Finding struct {
	Rule     string   `json:"rule"` // name of the rule
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Name     string   `json:"name,omitempty"`  // name of the tool or prompt, URI of the resource, or the template
	Field    string   `json:"field,omitempty"` // path of the faulty member, such as inputSchema.properties.city
	What     string   `json:"what"`
	Remedy   string   `json:"remedy"`
}

// String returns the finding as one line, without its remedy.
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

// Worst returns the highest severity of the findings, or 0 if there are none.
func Worst(findings []Finding) Severity {
	worst := Severity(0)
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Largest numbers of characters in the texts of a finding.
const (
	maxShownName  = 120
	maxShownField = 160
	maxShownText  = 400
)

// A report collects findings.
type report struct {
	found     []Finding
	at        Finding // kind and name for the next findings
	compiled  int     // bytes of schemas that were compiled to check values
	described int     // bytes of schemas that were searched for descriptions
}

// add adds a finding about a field of the current definition.
func (r *report) add(rule string, s Severity, field, what, remedy string) {
	if len(r.found) >= maxFindings {
		return
	}
	f := r.at
	f.Rule, f.Severity, f.Remedy = rule, s, plaintext.Line(remedy, maxShownText)
	f.Field, f.What = plaintext.Line(field, maxShownField), plaintext.Line(what, maxShownText)
	r.found = append(r.found, f)
}

// about sets the definition that the next findings are about.
func (r *report) about(kind Kind, name string) {
	r.at = Finding{Kind: kind, Name: plaintext.Line(name, maxShownName)}
}
