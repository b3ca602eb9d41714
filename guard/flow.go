package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

const (
	// maxSources is the number of sources that a Flow distinguishes. Beyond it, a new source counts
	// as its whole server, and beyond twice as many as "others".
	maxSources = 512
	// maxConsents is the number of approvals that a Flow remembers; the oldest is dropped first.
	maxConsents = 512
	// maxNamed is the number of sources that the text of a reason names.
	maxNamed = 5
)

// A Flow records the sources of the text in one conversation. It never forgets a source, so that
// its decisions still apply after old turns were compacted. Its JSON is stored with the
// conversation. The zero value has no sources. It is safe for concurrent use.
//
// A call needs approval for two reasons, regardless of the texts. The first is its arguments: an
// outgoing secret, or an outgoing long piece of private text from another server. The second is the
// text that was read before. After untrusted text, a call that writes, sends or spends needs
// approval. So does a reading call that leaves, if private text of another server was read too. A
// reading call to the only server that sent this text needs no approval.
//
// [Flow.Consent] remembers an approval, for its reasons only. The approval ends when a new
// untrusted source is read. It also ends when a known source sends text that looks like an order,
// or much more text than before the approval. For a reading call, text of the called server itself
// is not a new source. Nor is text that the user attached, if [Call.Sees] reports that the server
// can read it.
type Flow struct {
	mu       sync.Mutex
	sources  []*source
	consents []consent
	openings []string // beginnings of secrets in calls; not stored
}

// A source is a Source with a record of the text that was read from it.
type source struct {
	Source
	Labels Labels `json:"labels"`
	Prints prints `json:"prints,omitempty"` // fingerprints of the private text
	Missed bool   `json:"missed,omitempty"` // part of the private text has no fingerprints
	state
}

// state counts the reads of a source.
type state struct {
	Reads  int `json:"reads,omitempty"`  // number of reads while untrusted
	Alarms int `json:"alarms,omitempty"` // number of texts that looked like an order
}

// holds reports whether an approval given in state s still applies in state now. The approval ends
// with any further alarm, or when the reads exceed twice those at the approval, plus a few. So
// users are rarely asked, but no approval lasts forever.
func (s state) holds(now state) bool {
	const few = 8
	return s.Alarms == now.Alarms && now.Reads <= 2*s.Reads+few
}

// A consent is an approval of the calls of a tool, for one reason and certain sources.
type consent struct {
	scope
	Sources []readSource `json:"sources"`
}

// A scope names the calls and the reason that an approval covers.
type scope struct {
	Server    string `json:"server"`
	Origin    string `json:"origin,omitempty"`
	Tool      string `json:"tool,omitempty"` // empty for all tools that only read
	Reason    Reason `json:"reason"`
	Arguments string `json:"arguments,omitempty"` // hash of the arguments, if the approval is limited to them
}

// consentTo returns an approval of a call for a reason, without sources.
func consentTo(c Call, reason Reason) consent {
	to := consent{scope: scope{Server: c.Server, Origin: c.Origin, Tool: c.Tool, Reason: reason}}
	switch reason {
	case CarriesText:
		hash := sha256.Sum256(c.Arguments)
		to.Arguments = hex.EncodeToString(hash[:])
	case WayOut:
		to.Tool = ""
	}
	return to
}

// about returns the entry for a source in an approval of a call, and whether the approval depends
// on it. For a reading call that leaves, the entry is the whole server, because any tool's text can
// leave in the same way. Text of the called server itself matters if it looks like an order.
func (f *Flow) about(c Call, reason Reason, of Source) (about readSource, matters bool) {
	own := c.isOf(of)
	if reason != WayOut || of.Tool == "" && !own {
		return f.asRead(of), true
	}
	about.Source = of.whole()
	for _, s := range f.sources {
		if s.whole() == about.Source && (own || s.URI == "") {
			about.Reads += s.Reads
			about.Alarms += s.Alarms
		}
	}
	if own {
		about.Reads = 0
	}
	return about, !own || about.Alarms > 0
}

// isPartOf reports whether a given approval still applies and covers all of c.
func (c consent) isPartOf(given consent) bool {
	return c.scope == given.scope && !slices.ContainsFunc(c.Sources, func(now readSource) bool {
		return !slices.ContainsFunc(given.Sources, func(then readSource) bool {
			return then.Source == now.Source && then.holds(now.state)
		})
	})
}

// A readSource is a source with its state when the question was asked.
type readSource struct {
	Source
	state
}

// Reason is the reason why a call needs approval.
type Reason string

// The reasons, gravest first.
const (
	CarriesSecret Reason = "carries-secret" // the arguments contain a possible secret, or a path to a secret
	CarriesText   Reason = "carries-text"   // the arguments contain a long piece of private text of another server
	Tainted       Reason = "tainted"        // untrusted text was read, and the call writes, sends or spends
	WayOut        Reason = "way-out"        // private and untrusted text was read, and the arguments leave
)

// A Decision is the answer of [Flow.Ask]: whether a call may run, and if not, why.
type Decision struct {
	Allowed bool
	Reasons []Reason  // reasons to ask, gravest first
	Sources []Source  // sources that were read, sorted
	Secrets []Finding // possible secrets in the arguments
	Why     string    // one or two sentences for a user, with the sources; safe to show

	call  Call
	asked []question
}

// A question holds one reason to ask, with its sources.
type question struct {
	means consent      // the approval to record if the user agrees
	named []readSource // the sources that the question names
}

// Read records that text of a source is in the conversation. It also records text without labels,
// because [Flow.Distrust] may add one later. It stores fingerprints of private text, not the text.
func (f *Flow) Read(from Source, labels Labels, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.source(from)
	s.Labels |= labels
	if labels&Untrusted != 0 && text != "" {
		if Worst((*Catalogue)(nil).Scan(text, Where{Part: InResult, Server: s.Server})) >= Warn {
			s.Alarms++
		}
		s.Reads++
	}
	if labels&Private == 0 {
		return
	}
	room := maxPrints
	for _, other := range f.sources {
		room -= len(other.Prints)
	}
	var all bool
	if s.Prints, all = s.Prints.add(text, room); !all {
		s.Missed = true
	}
}

// source returns the record of a source, or of its server if there are too many.
func (f *Flow) source(of Source) *source {
	of = Source{Server: cut(of.Server, 256), Origin: cut(of.Origin, 256), Tool: cut(of.Tool, 256), URI: cut(of.URI, 2<<10)}
	others := Source{Server: "others", Origin: "others"} // no server has this origin and name
	for _, coarser := range []Source{of, of.whole(), others} {
		for _, s := range f.sources {
			if s.Source == coarser {
				return s
			}
		}
		limit := maxSources
		switch coarser {
		case of.whole():
			limit = 2 * maxSources
		case others:
			limit++ // the entry for others is always added
		}
		if len(f.sources) < limit || coarser == others {
			s := &source{Source: coarser}
			f.sources = append(f.sources, s)
			return s
		}
	}
	return f.sources[len(f.sources)-1]
}

// Trust removes the label untrusted from some sources, because the user now trusts their server.
func (f *Flow) Trust(now func(Source) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sources {
		if now(s.Source) {
			s.Labels &^= Untrusted
		}
	}
}

// Labels returns the labels of everything that was read.
func (f *Flow) Labels() Labels {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all Labels
	for _, s := range f.sources {
		all |= s.Labels
	}
	return all
}

// Sources returns the sources with any of the labels, sorted.
func (f *Flow) Sources(labels Labels) []Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sourcesWith(labels, func(*source) bool { return true })
}

// sourcesWith returns the sources with any of the labels for which keep returns true, sorted.
func (f *Flow) sourcesWith(labels Labels, keep func(*source) bool) []Source {
	var found []Source
	for _, s := range f.sources {
		if s.Labels&labels != 0 && keep(s) {
			found = append(found, s.Source)
		}
	}
	slices.SortFunc(found, Source.compare)
	return found
}

func (s Source) compare(other Source) int {
	return cmp.Or(strings.Compare(s.Server, other.Server), strings.Compare(s.Tool, other.Tool), strings.Compare(s.URI, other.URI), strings.Compare(s.Origin, other.Origin))
}

// Consent remembers that the user approved the question of d. Later calls of the same tool need no
// approval for the same reason and sources, as long as the state of the sources allows. If the call
// only read, the approval covers all reading calls of its server, after text of any tool of the
// same sources. It ends when one of the sources sends text that looks like an order. It also ends
// when one was read more than twice as often as before, plus eight times. An approval for carried
// text applies only to the same arguments, and approvals for secrets are not remembered.
func (f *Flow) Consent(d Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range d.asked {
		c := q.means
		c.Sources = slices.Clone(c.Sources)
		f.consents = slices.DeleteFunc(f.consents, func(old consent) bool {
			if old.scope != c.scope {
				return false
			}
			for _, s := range old.Sources {
				if !slices.ContainsFunc(c.Sources, func(new readSource) bool { return new.Source == s.Source }) {
					c.Sources = append(c.Sources, s)
				}
			}
			return true
		})
		if len(f.consents) >= maxConsents {
			f.consents = f.consents[1:]
		}
		f.consents = append(f.consents, c)
	}
}

// asRead returns a source with its state.
func (f *Flow) asRead(of Source) readSource {
	for _, s := range f.sources {
		if s.Source == of {
			return readSource{of, s.state}
		}
	}
	return readSource{Source: of}
}

// flowState is the JSON form of a Flow.
type flowState struct {
	Sources  []*source `json:"sources,omitempty"`
	Consents []consent `json:"consents,omitempty"`
}

// MarshalJSON returns the sources and approvals as JSON.
func (f *Flow) MarshalJSON() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return json.Marshal(flowState{Sources: f.sources, Consents: f.consents})
}

// UnmarshalJSON replaces the content of f by the output of MarshalJSON. It fails if the sources,
// approvals or fingerprints exceed the limits.
func (f *Flow) UnmarshalJSON(text []byte) error {
	var state flowState
	if err := json.Unmarshal(text, &state); err != nil {
		return fmt.Errorf("flow of a conversation: %w", err)
	}
	total := 0
	for _, s := range state.Sources {
		if s == nil {
			return fmt.Errorf("flow of a conversation: a source is null")
		}
		total += len(s.Prints)
	}
	if len(state.Sources) > 2*maxSources+1 || len(state.Consents) > maxConsents || total > maxPrints {
		return fmt.Errorf("flow of a conversation: %d sources, %d consents and %d fingerprints are more than any has", len(state.Sources), len(state.Consents), total)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources, f.consents = state.Sources, state.Consents
	return nil
}
