package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Ask decides whether a call may run. A call needs approval because of its arguments or because of
// text that the conversation read earlier. Ask changes nothing.
func (f *Flow) Ask(c Call) Decision {
	d := Decision{call: c}
	f.mu.Lock()
	openings := slices.Clone(f.openings)
	f.mu.Unlock()
	d.Secrets = carriedSecrets(c, openings)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(d.Secrets) > 0 {
		d.Reasons = append(d.Reasons, CarriesSecret)
	}
	carried := f.unless(&d, CarriesText, f.carried(c))
	cause, reason := f.cause(c)
	cause = f.unless(&d, reason, cause)
	d.Sources = merge(carried, cause)
	d.Allowed = len(d.Reasons) == 0
	if !d.Allowed {
		d.Why = d.why()
	}
	return d
}

// unless adds reason to d and returns the sources, unless a remembered approval covers them. It
// returns nil if there is nothing to ask.
func (f *Flow) unless(d *Decision, reason Reason, sources []Source) []Source {
	if len(sources) == 0 {
		return nil
	}
	asked := question{means: consentTo(d.call, reason)}
	for _, s := range sources {
		asked.named = append(asked.named, f.asRead(s))
		if about, matters := f.about(d.call, reason, s); matters && !slices.Contains(asked.means.Sources, about) {
			asked.means.Sources = append(asked.means.Sources, about)
		}
	}
	if slices.ContainsFunc(f.consents, asked.means.isPartOf) {
		return nil
	}
	d.Reasons, d.asked = append(d.Reasons, reason), append(d.asked, asked)
	return sources
}

// carriedSecrets returns the secrets in the arguments, and those that began in an earlier call and
// continue in this one. A call to a trusted local server may name a file of secrets: it concerns
// the user's own files, and its result is private.
func carriedSecrets(c Call, openings []string) []Finding {
	r := newReport()
	part := InArguments
	if !c.Leaves() {
		part = InResult
	}
	w := &walker{server: c.Server, report: r}
	if len(c.Arguments) > 0 {
		w.carried(c.Arguments, part)
		all, left := stringsIn(c.Arguments), room{maxTries, 2 * maxJoins}
		for _, opening := range openings {
			left.join(w, opening, all)
		}
		left.done(w)
	}
	found := r.findings()
	if !c.Leaves() && !c.Writes() {
		return nil
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Severity < Warn || f.Rule != "secret" && f.Rule != "secret-path" })
}

// carried returns the private sources of other servers whose text occurs, in a long piece, in
// outgoing arguments. A source whose text is not fully fingerprinted is always included, because a
// match may be missed.
func (f *Flow) carried(c Call) []Source {
	if !c.Leaves() || len(c.Arguments) == 0 {
		return nil
	}
	var own prints
	computed := false
	return f.sourcesWith(Private, func(s *source) bool {
		if c.isOf(s.Source) || len(s.Prints) == 0 && !s.Missed {
			return false
		}
		if !computed {
			own, computed = printsOfSpellings(c.Arguments), true
		}
		return len(own) > 0 && (s.Missed || s.Prints.overlap(own))
	})
}

// printsOfSpellings returns the fingerprints of the strings in a call's arguments and of the texts
// decoded from them.
func printsOfSpellings(arguments []byte) prints {
	all := fingerprintsOf(unquoted(arguments))
	for _, s := range stringsIn(arguments) {
		eachSpelling(s, func(decoded, _ string) {
			if readsAsText(decoded) {
				all = append(all, fingerprintsOf(decoded)...)
			}
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stringsIn returns the string values in JSON. Text that is not JSON is returned whole.
func stringsIn(raw []byte) (all []string) {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return []string{string(raw)}
	}
	visit(raw, "", func(s, _ string) { all = append(all, s) }, func(string, []byte, string) bool { return true })
	return all
}

// Sent records that a call was made, because a later call may continue a secret that begins in its
// arguments.
func (f *Flow) Sent(c Call) {
	w := &walker{server: c.Server, report: newReport()}
	openings := w.carried(c.Arguments, InResult)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.openings = append(f.openings, openings...)
	f.openings = f.openings[max(0, len(f.openings)-maxOpenings):]
}

// cause returns the sources that make approval of the call necessary, and the reason for asking.
func (f *Flow) cause(c Call) ([]Source, Reason) {
	sways := func(s *source) bool { return s.Alarms > 0 || !c.Sees(s.Source) }
	elsewhere := func(s *source) bool { return !c.isOf(s.Source) && sways(s) }
	private := f.sourcesWith(Private, elsewhere)
	own := c.Chosen && (len(private) == 0 || !c.Leaves())
	known := func(s *source) bool {
		return slices.ContainsFunc(c.Known, func(k Source) bool { return s.whole() == k.whole() })
	}
	unknown := func(s *source) bool { return s.Alarms > 0 || sways(s) && !known(s) && (!own || elsewhere(s)) }
	untrusted := f.sourcesWith(Untrusted, unknown)
	switch {
	case c.Writes():
		return untrusted, Tainted
	case !c.Leaves() || len(private) == 0:
		return nil, ""
	case len(untrusted) == 0 && len(f.sourcesWith(Private, func(s *source) bool { return elsewhere(s) && unknown(s) })) == 0:
		return nil, ""
	}
	// A reading call that leaves can carry out private data of other servers.
	if untrusted = f.sourcesWith(Untrusted, sways); len(untrusted) == 0 {
		return nil, ""
	}
	return merge(untrusted, private), WayOut
}

// merge returns the sources of a and b, sorted and without duplicates.
func merge(a, b []Source) []Source {
	all := slices.Concat(a, b)
	slices.SortFunc(all, Source.compare)
	return slices.Compact(all)
}

// And combines the decisions of two flows about one call into one question to the user, with the
// reasons of both and no duplicates. Each flow records the user's answer with its own Decision; see
// [Flow.Consent].
func (d Decision) And(other Decision) Decision {
	switch {
	case d.Allowed:
		return other
	case other.Allowed:
		return d
	}
	for _, reason := range other.Reasons {
		if !slices.Contains(d.Reasons, reason) {
			d.Reasons = append(slices.Clone(d.Reasons), reason)
		}
	}
	d.Sources, d.Secrets, d.asked = merge(d.Sources, other.Sources), slices.Concat(d.Secrets, other.Secrets), slices.Concat(d.asked, other.asked)
	d.Why = d.why()
	return d
}

// why returns the text of all reasons, for the user.
func (d Decision) why() string {
	var parts []string
	call := Source{Server: d.call.Server, Tool: d.call.Tool}
	for _, reason := range d.Reasons {
		var sources []readSource
		for _, asked := range d.asked {
			if asked.means.Reason == reason {
				sources = append(sources, asked.named...)
			}
		}
		from := named(d.call, sources)
		switch reason {
		case CarriesSecret:
			parts = append(parts, fmt.Sprintf("The data for %s contains a secret or names a file of secrets (%s).", call, d.Secrets[0].Excerpt))
		case CarriesText:
			parts = append(parts, fmt.Sprintf("The data for %s may contain text from %s.", call, from))
		case Tainted:
			parts = append(parts, fmt.Sprintf("Untrusted text may have led the model to call %s; it came from %s.", call, from))
		case WayOut:
			parts = append(parts, fmt.Sprintf("%s could send data out, and the model has read private and untrusted text: %s.", call, from))
		}
	}
	if slices.ContainsFunc(d.Sources, Source.IsDefinitions) {
		parts = append(parts, "Approved definitions count, too, as long as you do not trust their server.")
	}
	return strings.Join(parts, " ")
}

// named lists sources, the first few by name. Sources with text that looked like orders to the
// model come first, because this call may follow those orders.
func named(c Call, sources []readSource) string {
	slices.SortFunc(sources, func(a, b readSource) int {
		return cmp.Or(cmp.Compare(min(b.Alarms, 1), min(a.Alarms, 1)), a.Source.compare(b.Source))
	})
	sources = slices.CompactFunc(sources, func(a, b readSource) bool { return a.Source == b.Source })
	var names []string
	for i, s := range sources {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(sources)-maxNamed))
			break
		}
		name := s.String()
		if s.Tool == c.Tool && s.URI == "" && c.isOf(s.Source) {
			name = "earlier results of this tool"
		}
		if s.Server == c.Server && !c.isOf(s.Source) {
			name += " (another server of that name)"
		}
		if s.Alarms > 0 {
			name += " (which seems to give the model orders)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
