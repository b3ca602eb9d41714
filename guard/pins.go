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
	// maxPins is the maximum number of approved definitions.
	maxPins = 50_000
	// maxOrigins is the number of servers with one name that have approvals of their own; the
	// oldest approval is dropped first.
	maxOrigins = 8
	// maxKept is the number of bytes of each field of an approved definition that are stored to
	// show changes. The hash covers the whole field.
	maxKept = 32 << 10
	// maxIndented is the maximum size in the file of stored JSON, which has each element on a line
	// of its own.
	maxIndented = 8 * maxKept
)

// ErrTooManyPins is returned by [Pins.Approve] and [Pins.Save] when the store is full. Forget
// servers that are no longer used.
var ErrTooManyPins = errors.New("too many approved definitions")

// Pins stores the approved definitions with their content, and separately those that were accepted
// without being shown to a user. The zero value is empty and in memory only; [Load] returns one
// that is stored in a file. It is safe for concurrent use.
type Pins struct {
	mu   sync.Mutex
	path string
	kept pinned

	// Changes since the file was read: first the servers that were forgotten, and then the pins.
	forgotten map[string]bool
	fresh     pinned
}

// pinned holds the approved definitions and those that were only seen. A definition is in one of
// them.
type pinned struct {
	approved map[pinKey]approvals
	seen     map[pinKey]pin
	of       map[string]seenOf // summary of seen, by server
}

func newPinned() pinned {
	return pinned{approved: map[pinKey]approvals{}, seen: map[pinKey]pin{}, of: map[string]seenOf{}}
}

// approve adds an approval. A seen definition stays if it may belong to another server with the
// same name.
func (p pinned) approve(key pinKey, now pin) {
	p.approved[key] = p.approved[key].with(now)
	if now.Origin == "" || p.seen[key].Hash == now.Hash {
		p.unsee(key)
	}
	for p.size() > maxPins && p.spare(0) { // an approval takes precedence over a seen definition
	}
}

// forget removes the definitions of servers.
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

// A pin is an approved definition.
type pin struct {
	Hash       string     `json:"hash"`
	Approved   time.Time  `json:"approved"`
	Definition Definition `json:"definition"` // possibly shortened
	// Reads reports whether the user declared that it only reads, for the server of this origin.
	Reads  bool   `json:"reads,omitempty"`
	Origin string `json:"origin,omitempty"`
}

// approvals holds the approvals of one kind, server and name, one for each origin, the latest last.
type approvals []pin

// of returns the approval for the server of an origin.
func (a approvals) of(origin string) (p pin, found bool) {
	i := slices.IndexFunc(a, func(p pin) bool { return p.Origin == origin })
	if i < 0 {
		return pin{}, false
	}
	return a[i], true
}

// with returns a with another approval, which replaces the one for the same origin; one without
// origin replaces all.
func (a approvals) with(p pin) approvals {
	a = slices.DeleteFunc(slices.Clone(a), func(old pin) bool { return old.Origin == p.Origin || p.Origin == "" })
	a = append(a, p)
	slices.SortStableFunc(a, func(x, y pin) int { return x.Approved.Compare(y.Approved) })
	return a[max(0, len(a)-maxOrigins):]
}

// State is the result of [Pins.Check].
type State int

// The states of a definition.
const (
	New     State = iota // nothing with this kind, server and name was approved
	Same                 // it was approved
	Changed              // other content was approved
)

// String returns "new", "same" or "changed".
func (s State) String() string {
	return [...]string{"new", "same", "changed"}[s]
}

// A Verdict compares a definition with the approved one.
type Verdict struct {
	State State
	Hash  string // of the checked definition

	// Old is the approved definition if State is Changed. If State is New, it is another definition
	// accepted by [Pins.See], if any. Fields of more than 32 KiB are cut.
	Old      Definition
	Approved time.Time // set if Same or Changed
	// Seen reports that the comparison is with a definition accepted by [Pins.See], which is not an
	// approval.
	Seen bool
}

// Check compares d with the approved definition of its kind, server and name: for its origin, or
// else for any server with the name. Only a definition with State Same may reach a model or be run.
func (p *Pins) Check(d Definition) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.check(d)
	if seen, found := p.kept.seen[d.key()]; found && v.State == New && seen.Hash != v.Hash {
		v.Old = seen.Definition
	}
	return v
}

// CheckSeen is like Check, but treats a definition accepted by [Pins.See] as approved if no other
// is. It reports whether a server changed, not whether a model may use it.
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

// Approve pins definitions, all or none, and replaces those approved for the same kind, server,
// name and origin. Its only error is [ErrTooManyPins]. [Pins.Save] writes them to the file.
func (p *Pins) Approve(definitions ...Definition) error {
	return p.approve(definitions, pin{})
}

// See records definitions that are accepted without being shown to a user, so that [Pins.CheckSeen]
// detects changes; for [Pins.Check] they stay new. One server, and all servers together, have
// limits, so that space remains for others. Definitions beyond them are not recorded and stay new.
// See does not fail.
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

// ApproveReading is like [Pins.Approve], for tools of which the user declares that they only read,
// without an annotation of the server. It applies as long as the definition is the same, and only
// to the server of this origin.
func (p *Pins) ApproveReading(origin string, definitions ...Definition) error {
	return p.approve(definitions, pin{Reads: true, Origin: origin})
}

// Reads reports whether d and its server are those that [Pins.ApproveReading] approved.
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

// of returns a pin of a definition, with the user's declarations in p.
func (p pin) of(d *Definition) pin {
	p.Hash, p.Approved, p.Definition = d.Hash(), time.Now().UTC(), d.kept()
	if !p.Reads {
		p.Origin = d.Origin
	}
	return p
}

// approve approves definitions, with the user's declarations in said.
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
		p.fresh.approve(d.key(), now)
	}
	return nil
}

// Forget removes everything approved or seen for a server, so that all of it is new.
func (p *Pins) Forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change()
	p.forgotten[server] = true
	for _, all := range []pinned{p.kept, p.fresh} {
		all.forget(func(of string) bool { return of == server })
	}
}

// Approved returns the approved definitions of a server, the latest of each kind and name, sorted
// by these. Fields of more than 32 KiB are cut.
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

// change prepares the maps for a change.
func (p *Pins) change() {
	if p.kept.approved == nil {
		p.kept = newPinned()
	}
	if p.forgotten == nil {
		p.fresh, p.forgotten = newPinned(), map[string]bool{}
	}
}

// kept returns d as it is stored: limited in size, and valid for JSON. Kind, server and name are
// the key and stay whole.
func (d Definition) kept() Definition {
	for _, s := range []*string{&d.Title, &d.Description, &d.Text} {
		*s = strings.ToValidUTF8(cut(*s, maxKept), "\uFFFD")
	}
	for _, raw := range []*json.RawMessage{&d.Schema, &d.OutputSchema, &d.Annotations, &d.Icons} {
		*raw = keptJSON(*raw)
	}
	return d
}

// keptJSON returns raw, or the beginning of it as a JSON string.
func keptJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) <= maxKept && jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil && indentedSize(raw) <= maxIndented {
		return bytes.Clone(raw)
	}
	return jsonrpc.AppendString(nil, strings.ToValidUTF8(cut(string(raw), maxKept), "\uFFFD"))
}

// indentedSize returns the approximate size of JSON with each element on a line of its own.
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
		size += 1 + len("  ")*(depth+4) // nested in the file
	}
	return size
}

// cut returns at most max bytes of s, with a mark if something is missing.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "… (cut short)"
}
