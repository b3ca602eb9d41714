package policy

import (
	"fmt"
	"strconv"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Problem is a fault in a rule or a file, with its place and its remedy. Errors of [Compile],
// [Load] and [Append] join one for each fault; errors.As finds the first.
type Problem struct {
	Source string // Source of the rule, or the file; may be empty
	Rule   string // name of the rule, or its position, such as "rule 3"
	Field  string // the faulty member, such as "when"; may be empty
	Line   int    // line in the condition, from 1; 0 means the whole field
	Column int    // character in that line, from 1
	Err    error  // the fault with its remedy
}

// Error returns the fault with its place, rule, field and position.
func (p *Problem) Error() string {
	var text string
	for _, part := range []string{p.Source, p.Rule, p.Field} {
		if part != "" {
			text += part + ": "
		}
	}
	if p.Line > 1 {
		text += "line " + strconv.Itoa(p.Line) + ", "
	}
	if p.Column > 0 {
		text += "column " + strconv.Itoa(p.Column) + ": "
	}
	return text + p.Err.Error()
}

// Unwrap returns the fault without its place.
func (p *Problem) Unwrap() error { return p.Err }

// title returns the name that problems use for the rule at an index.
func (r *Rule) title(index int) string {
	if r.Name == "" {
		return "rule " + strconv.Itoa(index+1)
	}
	return fmt.Sprintf("rule %q", plaintext.Line(r.Name, maxQuoted))
}

// maxQuoted is the largest number of characters of a rule's text in an error.
const maxQuoted = 64

func quote(text string) string { return strconv.Quote(plaintext.Line(text, maxQuoted)) }
