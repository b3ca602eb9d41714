package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/pointer"
)

// maxRedacted is the maximum number of paths of one rule.
const maxRedacted = 100

// Redact lists the hidden parts of a call: paths such as /user/email or /items/*/price, where *
// matches every member or element. The code that makes the calls, such as gateway/rules, must apply
// it.
type Redact struct {
	Arguments []string `json:"arguments,omitempty"` // are hidden from the server
	Results   []string `json:"results,omitempty"`   // are hidden from the client
}

// check returns an error if r is not valid for the effect.
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

// String lists the paths.
func (r *Redact) String() string { return strings.Join(slices.Concat(r.Arguments, r.Results), ", ") }

// Redact returns the hidden parts of the call, if it runs: those of all rules that apply to it,
// whether they decided or not. Rules whose condition could not be evaluated count, too, as more is
// hidden then and not less.
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

// RedactsResults reports whether rules hide parts of the results of a tool, at least for some
// calls. Such results need not conform to the tool's output schema.
func (p *Policy) RedactsResults(server, tool string) bool {
	return slices.ContainsFunc(p.rules, func(c *compiled) bool {
		return c.rule.Redact != nil && len(c.rule.Redact.Results) > 0 && c.server.matches(server) && c.tool.matches(tool)
	})
}

// same reports whether two rules are equal in all their fields.
func same(a, b Rule) bool { return reflect.DeepEqual(a, b) }
