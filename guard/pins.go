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
)

const (
	// maxPins is how many definitions may be approved at a time.
	maxPins = 50_000
	// maxOrigins is how many servers of one name have approvals of their own; the one approved first goes first.
	maxOrigins = 8
	// maxKept is how many bytes of each field of an approved definition are
	// kept to show what changed. The hash is of all of it.
	maxKept = 32 << 10
	// maxIndented is how many bytes JSON that is kept has in the file, where each element stands in a line of its own.
	maxIndented = 8 * maxKept
)

// ErrTooManyPins is returned by [Pins.Approve] and [Pins.Save] when the store is full; forget
// servers that are no longer used.
var ErrTooManyPins = errors.New("too many approved definitions")

// Pins remembers which definitions were approved, and what they said; and apart from these, which were let through
// without anybody having been shown them. The zero value is empty and lives in memory only; [Load] makes one that is
// kept in a file. It may be used from many goroutines.
type Pins struct {
	mu   sync.Mutex
	path string
	kept pinned

	// What changed since the file was read: first the servers of which nothing is kept any more, and then the pins.
	forgotten map[string]bool
	fresh     pinned
}

// pinned is what is approved, and what was only seen. A definition is in one of them.
type pinned struct {
	approved map[pinKey]approvals
	seen     map[pinKey]pin
	of       map[string]seenOf // what is in seen, by servers
}

func newPinned() pinned {
	return pinned{approved: map[pinKey]approvals{}, seen: map[pinKey]pin{}, of: map[string]seenOf{}}
}

// approve adds an approval. What was seen stays where another server of the name may still be the one that was seen.
func (p pinned) approve(key pinKey, now pin) {
	p.approved[key] = p.approved[key].with(now)
	if now.Origin == "" || p.seen[key].Hash == now.Hash {
		p.unsee(key)
	}
	for p.size() > maxPins && p.spare(0) { // an approval is worth more than what was seen
	}
}

// forget removes what of is a server's.
func (p pinned) forget(of func(server string) bool) {
	maps.DeleteFunc(p.approved, func(key pinKey, _ approvals) bool { return of(key.Server) })
	for key := range p.seen {
		if of(key.Server) {
			p.unsee(key)
		}
	}
}

// size is how many definitions there are.
func (p pinned) size() int { return len(p.approved) + len(p.seen) }

type pinKey struct {
	Kind         Kind
	Server, Name string
}

// A pin is what was approved.
type pin struct {
	Hash       string     `json:"hash"`
	Approved   time.Time  `json:"approved"`
	Definition Definition `json:"definition"` // as much as is kept
	// Reads is whether the person said that it only reads, of the server of this origin.
	Reads  bool   `json:"reads,omitempty"`
	Origin string `json:"origin,omitempty"`
}

// approvals are those of one kind, server and name, one for each origin, the latest last.
type approvals []pin

// of returns the approval for the server of an origin.
func (a approvals) of(origin string) (p pin, found bool) {
	i := slices.IndexFunc(a, func(p pin) bool { return p.Origin == origin })
	if i < 0 {
		return pin{}, false
	}
	return a[i], true
}

// with returns a with another approval, in place of that for the same origin; one for no origin is in place of all.
func (a approvals) with(p pin) approvals {
	a = slices.DeleteFunc(slices.Clone(a), func(old pin) bool { return old.Origin == p.Origin || p.Origin == "" })
	a = append(a, p)
	slices.SortStableFunc(a, func(x, y pin) int { return x.Approved.Compare(y.Approved) })
	return a[max(0, len(a)-maxOrigins):]
}

// State is what [Pins.Check] found.
type State int

// The states of a definition.
const (
	New     State = iota // nothing of this kind, server and name was approved
	Same                 // what was approved
	Changed              // something else was approved
)

// String returns "new", "same" or "changed".
func (s State) String() string {
	return [...]string{"new", "same", "changed"}[s]
}

// A Verdict says whether a definition is the approved one.
type Verdict struct {
	State State
	Hash  string // of the definition that was checked

	// Old is the approved definition, if State is Changed, or the one that was let through by [Pins.See], if State is New and that
	// was another one. Fields of more than 32 KiB are cut short.
	Old      Definition
	Approved time.Time // when Same or Changed
	// Seen says that the definition that it was compared with was let through by [Pins.See], which is no approval.
	Seen bool
}

// Check compares d with what was approved under its kind, server and name: for its origin, or else for any other
// server of the name. Only State Same may reach a model or be run.
func (p *Pins) Check(d Definition) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.check(d)
	if seen, found := p.kept.seen[d.key()]; found && v.State == New && seen.Hash != v.Hash {
		v.Old = seen.Definition
	}
	return v
}

// CheckSeen is Check that takes what was let through by [Pins.See] for approved, if nothing else is. It says whether
// a server changed, and not whether a model may have what it offers.
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

// check is Check; the lock is held.
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

// Approve pins definitions, all or none, in place of what was approved before
// under the same kind, server, name and origin. It fails with [ErrTooManyPins] only.
// Nothing is written to the file before [Pins.Save].
func (p *Pins) Approve(definitions ...Definition) error {
	return p.approve(definitions, pin{})
}

// See notes definitions that are let through though nobody was shown them, so that [Pins.CheckSeen] finds out what
// changes; for [Pins.Check] they stay new. Of one server, and of all together, there are so many that others have room: those that
// would be more are not noted, and stay new. It does not fail.
func (p *Pins) See(definitions ...Definition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range definitions {
		p.change()
		now := pin{}.of(&d)
		if p.kept.see(d.key(), now) {
			p.fresh.see(d.key(), now)
		}
	}
	return nil
}

// Knows reports whether anything of a kind was approved or seen of a server.
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

// ApproveReading is [Pins.Approve] of tools of which the person says that they only read, where
// the server says nothing. That holds as long as the definition is the same, and for the server
// of this origin only.
func (p *Pins) ApproveReading(origin string, definitions ...Definition) error {
	return p.approve(definitions, pin{Reads: true, Origin: origin})
}

// Reads reports whether d is what [Pins.ApproveReading] approved, and so is its server.
func (p *Pins) Reads(d Definition, origin string) bool {
	p.mu.Lock()
	old, _ := p.kept.approved[d.key()].of(origin)
	p.mu.Unlock()
	return old.Reads && old.Hash == d.Hash()
}

// Reading returns the names of the tools of a server that [Pins.ApproveReading] approved, sorted.
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

// of is a pin of a definition, with what the person said of it.
func (p pin) of(d *Definition) pin {
	p.Hash, p.Approved, p.Definition = d.Hash(), time.Now().UTC(), d.kept()
	if !p.Reads {
		p.Origin = d.Origin
	}
	return p
}

// approve approves definitions, with what the person said of them.
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
		return fmt.Errorf("approve %d definitions: %w: at most %d; forget servers that are no longer used", len(definitions), ErrTooManyPins, maxPins)
	}
	for _, d := range definitions {
		now := said.of(&d)
		p.change()
		p.kept.approve(d.key(), now)
		p.fresh.approve(d.key(), now)
	}
	return nil
}

// Forget removes everything approved for a server, and seen of it, so that all of it is new.
func (p *Pins) Forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change()
	p.forgotten[server] = true
	for _, all := range []pinned{p.kept, p.fresh} {
		all.forget(func(of string) bool { return of == server })
	}
}

// Approved returns what is approved for a server, the latest of each kind and name, sorted by these.
// Fields of more than 32 KiB are cut short.
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

// Servers returns the names of the servers of which something is approved, sorted.
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

// change makes room for a change.
func (p *Pins) change() {
	if p.kept.approved == nil {
		p.kept = newPinned()
	}
	if p.forgotten == nil {
		p.fresh, p.forgotten = newPinned(), map[string]bool{}
	}
}

// kept is d as it is stored: bounded, and possible to write as JSON. Kind,
// server and name are the key and stay whole.
func (d Definition) kept() Definition {
	for _, s := range []*string{&d.Title, &d.Description, &d.Text} {
		*s = strings.ToValidUTF8(cut(*s, maxKept), "\uFFFD")
	}
	for _, raw := range []*json.RawMessage{&d.Schema, &d.OutputSchema, &d.Annotations, &d.Icons} {
		*raw = keptJSON(*raw)
	}
	return d
}

// keptJSON returns raw, or what can be kept of it as a JSON string.
func keptJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) <= maxKept && jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil && indentedSize(raw) <= maxIndented {
		return bytes.Clone(raw)
	}
	return jsonrpc.AppendString(nil, strings.ToValidUTF8(cut(string(raw), maxKept), "\uFFFD"))
}

// indentedSize is about how many bytes JSON has where each element stands in a line of its own.
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
		size += 1 + len("  ")*(depth+4) // in the file it is within others
	}
	return size
}

// cut returns at most max bytes of s, with a mark where something is missing.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "… (cut short)"
}
