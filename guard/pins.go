package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/state/replicas"
)

const (
	// maxPins is the maximum number of approved definitions.
	maxPins = 50_000
	// maxOrigins is the number of servers with the same name whose approvals are stored separately;
	// the oldest approval is dropped first.
	maxOrigins = 8
	// maxKept is the number of bytes of each field of an approved definition that are stored to
	// show changes. The hash covers the whole field.
	maxKept = 32 << 10
	// maxIndented is the maximum size of one JSON field in the file, which has each element on a
	// line of its own.
	maxIndented = 8 * maxKept
)

// ErrTooManyPins is the error of [Pins.Approve] and [Pins.Save] when the store is full. To make
// room, forget servers that are no longer used.
var ErrTooManyPins = errors.New("too many approved definitions")

// Pins stores the approved definitions with their content. It stores separately the definitions
// that were accepted without being shown to a user. The zero value is empty and in memory only;
// [Load] returns Pins that are stored in a file, and [LoadShared] those in a store. It is safe for
// concurrent use.
type Pins struct {
	mu      sync.Mutex
	path    string
	shared  *replicas.Group // has the pins in place of a file; nil for a file
	saving  sync.Mutex      // held by a Save into shared, so that a later one has later changes
	kept    pinned
	changes changes
}

// changes are those since the pins were read or saved. Servers in forgotten were removed before the pins
// in fresh were added.
type changes struct {
	forgotten map[string]bool
	fresh     pinned
}

// pinned holds the approved definitions and those that were only seen. The same content is never in
// both.
type pinned struct {
	approved map[pinKey]approvals
	seen     map[pinKey]pin
	of       map[string]seenSize // totals of seen, by server
}

func newPinned() pinned {
	return pinned{approved: map[pinKey]approvals{}, seen: map[pinKey]pin{}, of: map[string]seenSize{}}
}

// approve adds an approval. A seen definition with other content stays if it may belong to another
// server with the same name.
func (p pinned) approve(key pinKey, now pin) {
	p.approved[key] = p.approved[key].with(now)
	if now.Origin == "" || p.seen[key].Hash == now.Hash {
		p.unsee(key)
	}
	for p.size() > maxPins && p.spare(0) { // an approval takes precedence over a seen definition
	}
}

// forget removes the definitions of the servers for which of returns true.
func (p pinned) forget(of func(server string) bool) {
	maps.DeleteFunc(p.approved, func(key pinKey, _ approvals) bool { return of(key.Server) })
	for key := range p.seen {
		if of(key.Server) {
			p.unsee(key)
		}
	}
}

// size returns the number of definitions.
func (p pinned) size() int { return len(p.approved) + len(p.seen) }

type pinKey struct {
	Kind         Kind
	Server, Name string
}

// A pin is the stored record of an approved or seen definition.
type pin struct {
	Hash       string     `json:"hash"`
	Approved   time.Time  `json:"approved"`
	Definition Definition `json:"definition"` // possibly shortened
	// Reads reports that the user declared the tool to be read-only, for the server of this origin.
	Reads  bool   `json:"reads,omitempty"`
	Origin string `json:"origin,omitempty"`
}

// approvals holds the approvals of one kind, server and name. It has one for each origin, the
// latest last.
type approvals []pin

// of returns the approval for the server of an origin.
func (a approvals) of(origin string) (p pin, found bool) {
	i := slices.IndexFunc(a, func(p pin) bool { return p.Origin == origin })
	if i < 0 {
		return pin{}, false
	}
	return a[i], true
}

// with returns a with another approval. It replaces the approval for the same origin, and an
// approval without origin replaces all.
func (a approvals) with(p pin) approvals {
	a = slices.DeleteFunc(slices.Clone(a), func(old pin) bool { return old.Origin == p.Origin || p.Origin == "" })
	a = append(a, p)
	slices.SortStableFunc(a, func(x, y pin) int { return x.Approved.Compare(y.Approved) })
	return a[max(0, len(a)-maxOrigins):]
}

// State is the result of [Pins.Check].
type State int

// The results of a comparison.
const (
	New     State = iota // no definition of this kind, server and name was approved
	Same                 // the same content was approved
	Changed              // other content was approved
)

// String returns "new", "same" or "changed".
func (s State) String() string {
	return [...]string{"new", "same", "changed"}[s]
}

// A Verdict is the result of a comparison of a definition with the approved one.
type Verdict struct {
	State State
	Hash  string // hash of the checked definition

	// Old is the approved definition if State is Changed. If State is New, it is another definition
	// accepted by [Pins.See], if any. Fields of more than 32 KiB are cut.
	Old      Definition
	Approved time.Time // set if State is Same or Changed
	// Seen reports that the comparison is with a definition accepted by [Pins.See], which is not an
	// approval.
	Seen bool
}

// Check compares d with the approved definition of its kind, server and name. An approval for the
// origin of d comes first, then one for any server with the name. Only a definition with State Same
// may reach a model or be run.
func (p *Pins) Check(d Definition) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.check(d)
	if seen, found := p.kept.seen[d.key()]; found && v.State == New && seen.Hash != v.Hash {
		v.Old = seen.Definition
	}
	return v
}

// CheckSeen is like Check, but compares with a definition accepted by [Pins.See] if none was
// approved. It reports whether a server changed, not whether a model may use it.
func (p *Pins) CheckSeen(d Definition) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.check(d)
	switch seen, found := p.kept.seen[d.key()]; {
	case !found || v.State == Same:
	case seen.Hash == v.Hash:
		return Verdict{State: Same, Hash: v.Hash, Approved: seen.Approved, Seen: true}
	case v.State == New:
		return Verdict{State: Changed, Hash: v.Hash, Old: seen.Definition, Approved: seen.Approved, Seen: true}
	}
	return v
}

// check implements Check. The caller holds the lock.
func (p *Pins) check(d Definition) Verdict {
	hash := d.Hash()
	all := p.kept.approved[d.key()]
	old, found := all.of(d.Origin)
	for i := len(all) - 1; i >= 0 && !found; i-- {
		if old.Hash != hash {
			old = all[i]
		}
	}
	switch {
	case len(all) == 0:
		return Verdict{State: New, Hash: hash}
	case old.Hash == hash:
		return Verdict{State: Same, Hash: hash, Approved: old.Approved}
	}
	return Verdict{State: Changed, Hash: hash, Old: old.Definition, Approved: old.Approved}
}

// Approve pins definitions and replaces those approved for the same kind, server, name and origin.
// It pins all of them or, if there is no space, none. Its only error is [ErrTooManyPins].
// [Pins.Save] writes the pins to the file.
func (p *Pins) Approve(definitions ...Definition) error {
	return p.approve(definitions, pin{})
}

// See records definitions that were accepted without being shown to a user, so that
// [Pins.CheckSeen] detects changes. For [Pins.Check] they stay new. Each server, and all servers
// together, have limits. Definitions beyond the limits are not recorded and stay new. The error is
// always nil.
func (p *Pins) See(definitions ...Definition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range definitions {
		p.change()
		now := pin{}.of(&d)
		if p.kept.see(d.key(), now) {
			p.changes.fresh.see(d.key(), now)
		}
	}
	return nil
}

// Knows reports whether a definition of a kind was approved or seen for a server.
func (p *Pins) Knows(server string, kind Kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := func(key pinKey) bool { return key.Server == server && key.Kind == kind }
	for key := range p.kept.approved {
		if of(key) {
			return true
		}
	}
	for key := range p.kept.seen {
		if of(key) {
			return true
		}
	}
	return false
}

// ApproveReading is like [Pins.Approve], for tools that the user declares to be read-only although
// the server does not annotate them so. The declaration applies as long as the definition is the
// same, and only to the server of this origin.
func (p *Pins) ApproveReading(origin string, definitions ...Definition) error {
	return p.approve(definitions, pin{Reads: true, Origin: origin})
}

// Reads reports whether [Pins.ApproveReading] approved d for the server of this origin.
func (p *Pins) Reads(d Definition, origin string) bool {
	p.mu.Lock()
	old, _ := p.kept.approved[d.key()].of(origin)
	p.mu.Unlock()
	return old.Reads && old.Hash == d.Hash()
}

// Reading returns the names of a server's tools that [Pins.ApproveReading] approved, sorted.
func (p *Pins) Reading(server string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for key, all := range p.kept.approved {
		if key.Server == server && slices.ContainsFunc(all, func(p pin) bool { return p.Reads }) {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// of returns a pin for a definition, with the user's declarations from p.
func (p pin) of(d *Definition) pin {
	p.Hash, p.Approved, p.Definition = d.Hash(), time.Now().UTC(), d.kept()
	if !p.Reads {
		p.Origin = d.Origin
	}
	return p
}

// approve approves definitions with the user's declarations in said.
func (p *Pins) approve(definitions []Definition, said pin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := map[pinKey]bool{}
	for _, d := range definitions {
		if _, approved := p.kept.approved[d.key()]; !approved {
			fresh[d.key()] = true
		}
	}
	if len(p.kept.approved)+len(fresh) > maxPins {
		return fmt.Errorf("approve %d definitions: %w: at most %d; remove servers that are no longer used", len(definitions), ErrTooManyPins, maxPins)
	}
	for _, d := range definitions {
		now := said.of(&d)
		p.change()
		p.kept.approve(d.key(), now)
		p.changes.fresh.approve(d.key(), now)
	}
	return nil
}

// Forget removes everything approved or seen for a server. All its definitions are new afterwards.
func (p *Pins) Forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change()
	p.changes.forgotten[server] = true
	for _, all := range []pinned{p.kept, p.changes.fresh} {
		all.forget(func(of string) bool { return of == server })
	}
}

// Approved returns the approved definitions of a server, sorted by kind and name, and the latest of
// each. Fields of more than 32 KiB are cut.
func (p *Pins) Approved(server string) []Definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Definition
	for key, all := range p.kept.approved {
		if key.Server == server {
			found = append(found, all[len(all)-1].Definition)
		}
	}
	slices.SortFunc(found, func(a, b Definition) int { return a.key().compare(b.key()) })
	return found
}

// Servers returns the names of the servers with approved definitions, sorted.
func (p *Pins) Servers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for key := range p.kept.approved {
		names = append(names, key.Server)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (k pinKey) compare(other pinKey) int {
	for _, pair := range [][2]string{{k.Server, other.Server}, {string(k.Kind), string(other.Kind)}, {k.Name, other.Name}} {
		if order := strings.Compare(pair[0], pair[1]); order != 0 {
			return order
		}
	}
	return 0
}

// change allocates the maps before the first change.
func (p *Pins) change() {
	if p.kept.approved == nil {
		p.kept = newPinned()
	}
	if p.changes.forgotten == nil {
		p.changes.fresh, p.changes.forgotten = newPinned(), map[string]bool{}
	}
}

// kept returns d in the form that is stored: limited in size, with valid JSON. Kind, server and
// name are the key and stay whole.
func (d Definition) kept() Definition {
	for _, s := range []*string{&d.Title, &d.Description, &d.Text} {
		*s = strings.ToValidUTF8(cut(*s, maxKept), "\uFFFD")
	}
	for _, raw := range []*json.RawMessage{&d.Schema, &d.OutputSchema, &d.Annotations, &d.Icons} {
		*raw = keptJSON(*raw)
	}
	return d
}

// keptJSON returns a copy of raw if it is valid and not too large, or else the beginning of raw as
// a JSON string.
func keptJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) <= maxKept && jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil && indentedSize(raw) <= maxIndented {
		return bytes.Clone(raw)
	}
	return jsonrpc.AppendString(nil, strings.ToValidUTF8(cut(string(raw), maxKept), "\uFFFD"))
}

// indentedSize returns the approximate size of JSON when each element has a line of its own.
func indentedSize(raw []byte) (size int) {
	size = len(raw)
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			if end, ok := jsonrpc.SkipValue(raw, i); ok {
				i = end - 1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
		default:
			continue
		}
		size += 1 + len("  ")*(depth+4) // the file nests it further
	}
	return size
}

// cut returns at most max bytes of s, with a mark at the end if s was longer.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "… (cut short)"
}
