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
	// maxSources is how many sources a Flow tells apart; beyond, a source
	// counts as its server as a whole, and beyond twice as many as "others".
	maxSources = 512
	// maxConsents is how many answers a Flow remembers; the oldest goes first.
	maxConsents = 512
	// maxNamed is how many sources a reason names.
	maxNamed = 5
)

// A Flow follows where the text of one conversation came from. It never forgets a source,
// so that its decisions hold after old turns were compacted; as JSON it is kept
// with the conversation. The zero value has read nothing. It may be used from many goroutines.
//
// Two things make a call need a yes, whatever any text said. First, what it
// would carry: a secret, or a long piece of private text that came from another server,
// on its way out. Second, what was read before: once there is untrusted text,
// a call that writes, sends or spends; and a call that only reads, if private text of another server
// was read too and the question itself leaves. A reading call back to the one server that all
// of this text came from needs none. The yes is remembered with [Flow.Consent], for its
// reasons only, until a new untrusted source is read, or one that was known says something
// new: what looks like an order, or much more than when the yes was given. What the server
// that is called said itself is no new source of a reading call. Nor is what the person
// attached one for a call that [Call.Sees] it already.
type Flow struct {
	mu       sync.Mutex
	sources  []*source
	consents []consent
	openings []string // beginnings of secrets that calls carried; forgotten with the process
}

// A source is what was read from one Source.
type source struct {
	Source
	Labels Labels `json:"labels"`
	Prints prints `json:"prints,omitempty"` // of private text
	Missed bool   `json:"missed,omitempty"` // some of it has no prints
	state
}

// state is how far a source was read.
type state struct {
	Reads  int `json:"reads,omitempty"`  // how often, where it is untrusted
	Alarms int `json:"alarms,omitempty"` // how often what it said looked like an order
}

// holds reports whether a yes that was given at one state is one at a later state:
// few are asked again, but no yes is for ever.
func (s state) holds(now state) bool {
	const few = 8
	return s.Alarms == now.Alarms && now.Reads <= 2*s.Reads+few
}

// A consent is a yes to the calls of a tool, for one reason and as far as they have to
// do with certain sources.
type consent struct {
	scope
	Sources []readSource `json:"sources"`
}

// A scope is what a yes is about.
type scope struct {
	Server    string `json:"server"`
	Origin    string `json:"origin,omitempty"`
	Tool      string `json:"tool,omitempty"` // none for all tools that only read
	Reason    Reason `json:"reason"`
	Arguments string `json:"arguments,omitempty"` // the hash of the only ones, where they carry text
}

// consentTo is a yes to a call for a reason, with no sources yet.
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

// about is what a yes to a call for a reason says of a source, if it matters. Of a query that
// leaves it is the whole server: which of its tools returned the text makes no difference to where
// that can get. What the called server said itself matters where it looks like an order.
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

// isPartOf reports whether a yes was given to all of c, and still holds.
func (c consent) isPartOf(given consent) bool {
	return c.scope == given.scope && !slices.ContainsFunc(c.Sources, func(now readSource) bool {
		return !slices.ContainsFunc(given.Sources, func(then readSource) bool {
			return then.Source == now.Source && then.holds(now.state)
		})
	})
}

// A readSource is a source as it was when a question was asked.
type readSource struct {
	Source
	state
}

// Reason says why a call needs a yes.
type Reason string

// The reasons, gravest first.
const (
	CarriesSecret Reason = "carries-secret" // the arguments hold what looks like a secret, or a path to one
	CarriesText   Reason = "carries-text"   // they hold a long piece of private text of another server
	Tainted       Reason = "tainted"        // untrusted text was read, and the call writes, sends or spends
	WayOut        Reason = "way-out"        // private and untrusted text were read, and the question leaves
)

// A Decision says whether a call may run as far as the flow of data goes.
type Decision struct {
	Allowed bool
	Reasons []Reason  // why it needs a yes, gravest first
	Sources []Source  // what was read, sorted
	Secrets []Finding // what in the arguments looks like a secret
	Why     string    // one or two sentences for a person, with the sources; safe to show

	call  Call
	asked []question
}

// A question is one reason to ask.
type question struct {
	means consent      // what a yes to it is
	named []readSource // what the card names
}

// Read notes that text of a source is in the conversation now, also where it has no labels:
// [Flow.Distrust] may give it one. Fingerprints of private text are kept, not the text.
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

// source returns what is known of a source, or of its server where there are too many.
func (f *Flow) source(of Source) *source {
	of = Source{Server: cut(of.Server, 256), Origin: cut(of.Origin, 256), Tool: cut(of.Tool, 256), URI: cut(of.URI, 2<<10)}
	others := Source{Server: "others", Origin: "others"} // which is no server's
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
			limit++ // there is always room for this one
		}
		if len(f.sources) < limit || coarser == others {
			s := &source{Source: coarser}
			f.sources = append(f.sources, s)
			return s
		}
	}
	return f.sources[len(f.sources)-1]
}

// Trust takes back that what was read of some sources is untrusted, as the person trusts
// their server now.
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

// Sources returns what was read, sorted, that has any of the labels.
func (f *Flow) Sources(labels Labels) []Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.having(labels, func(*source) bool { return true })
}

// having returns the sources with any of the labels that keep is true for, sorted.
func (f *Flow) having(labels Labels, keep func(*source) bool) []Source {
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

// Consent remembers that the person said yes to what d asked for: calls of the
// same tool are not asked about again for the same reason and sources, as they were when
// [Flow.Ask] was called; nor are, if the call only read, other reading calls of its server,
// whatever tools of these sources' servers are read, or of its own. The yes ends when one of the sources says something that looks like an order, or was read more
// than twice and eight times as often. A yes to text that is carried is one to the same
// arguments only, and a secret is asked about every time.
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

// asRead returns a source with how far it was read.
func (f *Flow) asRead(of Source) readSource {
	for _, s := range f.sources {
		if s.Source == of {
			return readSource{of, s.state}
		}
	}
	return readSource{Source: of}
}

// flowState is the form of a Flow as JSON.
type flowState struct {
	Sources  []*source `json:"sources,omitempty"`
	Consents []consent `json:"consents,omitempty"`
}

// MarshalJSON writes what was read and agreed to.
func (f *Flow) MarshalJSON() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return json.Marshal(flowState{Sources: f.sources, Consents: f.consents})
}

// UnmarshalJSON reads what MarshalJSON wrote, in place of everything in f. What
// exceeds the limits is an error.
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
