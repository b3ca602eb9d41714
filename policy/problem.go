package policy

import (
	"fmt"
	"strconv"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Problem is one fault of one rule or file, with its place and the remedy. Errors of
// [Compile], [Load] and [Append] hold one for each fault; errors.As finds the first.
type Problem struct {
	Source string // the rule's Source, or the file; may be empty
	Rule   string // the rule's name, or its place among the given ones, such as "rule 3"
	Field  string // the member at fault, such as "when"; may be empty
	Line   int    // in a condition: the line, from 1; 0 where the whole field is meant
	Column int    // in a condition: the character of that line, from 1
	Err    error  // what is wrong, and what to do
}

// Error is the text of the fault: place, rule, field, position, what is wrong.
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

// Unwrap is the fault without its place.
func (p *Problem) Unwrap() error { return p.Err }

// title is what problems call the rule at a place among others.
func (r *Rule) title(index int) string {
	if r.Name == "" {
		return "rule " + strconv.Itoa(index+1)
	}
	return fmt.Sprintf("rule %q", plaintext.Line(r.Name, maxQuoted))
}

// maxQuoted is how much of a text from a rule an error repeats, in characters.
const maxQuoted = 64

func quote(text string) string { return strconv.Quote(plaintext.Line(text, maxQuoted)) }
