package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/pointer"
)

// maxRedacted is the largest number of paths in a rule.
const maxRedacted = 100

// Redact lists the values to hide in a call. Each is a path such as /user/email or /items/*/price,
// where * matches every member or element. The code that makes the call must hide them. Package
// gateway/rules does so.
type Redact struct {
	Arguments []string `json:"arguments,omitempty"` // paths hidden from the server
	Results   []string `json:"results,omitempty"`   // paths hidden from the client
}

// check returns an error if r is not valid in a rule with the effect.
func (r *Redact) check(effect Effect) error {
	switch {
	case r == nil:
		return nil
	case effect == Deny:
		return errors.New("goes only with allow and ask, because denied calls are not sent")
	case len(r.Arguments)+len(r.Results) == 0:
		return errors.New(`expected "arguments" or "results", with paths such as /user/email`)
	case len(r.Arguments)+len(r.Results) > maxRedacted:
		return fmt.Errorf("%w: more than %d paths", ErrLimit, maxRedacted)
	}
	for _, path := range slices.Concat(r.Arguments, r.Results) {
		if len(path) > maxText {
			return fmt.Errorf("%w: a path of %d bytes, more than %d", ErrLimit, len(path), maxText)
		}
		if _, err := pointer.Split(path); err != nil {
			return err
		}
	}
	return nil
}

// String returns the list of all paths.
func (r *Redact) String() string { return strings.Join(slices.Concat(r.Arguments, r.Results), ", ") }

// Redact returns the values to hide if the call runs. They come from all rules that apply, even if
// another rule decided, and from rules whose conditions could not be evaluated. So an error hides
// more and never less.
func (d *Decision) Redact() (all Redact) {
	for i := range d.Trace {
		s := &d.Trace[i]
		r := s.Rule.Redact
		if r == nil || !slices.Contains([]Outcome{Decided, Applies, Failed, NotKnown}, s.Outcome) {
			continue
		}
		all.Arguments, all.Results = append(all.Arguments, r.Arguments...), append(all.Results, r.Results...)
	}
	return all
}

// RedactsResults reports whether a rule may hide parts of the results of a tool. Such results need
// not match the tool's output schema.
func (p *Policy) RedactsResults(server, tool string) bool {
	return slices.ContainsFunc(p.rules, func(c *compiled) bool {
		return c.rule.Redact != nil && len(c.rule.Redact.Results) > 0 && c.server.matches(server) && c.tool.matches(tool)
	})
}

// same reports whether two rules are equal in all their fields.
func same(a, b Rule) bool { return reflect.DeepEqual(a, b) }
