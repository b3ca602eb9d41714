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
	// maxKept is how many bytes of each field of an approved definition are
	// kept to show what changed. The hash is of all of it.
	maxKept = 32 << 10
)

// ErrTooManyPins is returned by [Pins.Approve] and [Pins.Save] when the store is full; forget
// servers that are no longer used.
var ErrTooManyPins = errors.New("too many approved definitions")

// Pins remembers which definitions were approved, and what they said. The zero
// value is empty and lives in memory only; [Load] makes one that is kept in a
// file. It may be used from many goroutines.
type Pins struct {
	mu   sync.Mutex
	path string
	pins map[pinKey]pin

	// What changed since the file was read: first the servers of which nothing is approved any more, and then the pins.
	forgotten map[string]bool
	fresh     map[pinKey]pin
}

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

	// Old is the approved definition, if State is Changed. Fields of more than
	// 32 KiB are cut short.
	Old      Definition
	Approved time.Time // when Same or Changed
}

// Check compares d with what was approved under its kind, server and name.
// Only State Same may reach a model or be run.
func (p *Pins) Check(d Definition) Verdict {
	hash := d.Hash()
	p.mu.Lock()
	defer p.mu.Unlock()
	old, found := p.pins[d.key()]
	switch {
	case !found:
		return Verdict{State: New, Hash: hash}
	case old.Hash == hash:
		return Verdict{State: Same, Hash: hash, Approved: old.Approved}
	}
	return Verdict{State: Changed, Hash: hash, Old: old.Definition, Approved: old.Approved}
}

// Approve pins definitions, all or none, in place of what was approved before
// under the same kind, server and name. It fails with [ErrTooManyPins] only.
// Nothing is written to the file before [Pins.Save].
func (p *Pins) Approve(definitions ...Definition) error {
	return p.approve(pin{}, definitions)
}

// ApproveReading is [Pins.Approve] of tools of which the person says that they only read, where
// the server says nothing. That holds as long as the definition is the same, and for the server
// of this origin only.
func (p *Pins) ApproveReading(origin string, definitions ...Definition) error {
	return p.approve(pin{Reads: true, Origin: origin}, definitions)
}

// Reads reports whether d is what [Pins.ApproveReading] approved, and so is its server.
func (p *Pins) Reads(d Definition, origin string) bool {
	p.mu.Lock()
	old := p.pins[d.key()]
	p.mu.Unlock()
	return old.Reads && old.Origin == origin && old.Hash == d.Hash()
}

// Reading returns the names of the tools of a server that [Pins.ApproveReading] approved, sorted.
func (p *Pins) Reading(server string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for key, pin := range p.pins {
		if key.Server == server && pin.Reads {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// approve pins definitions, with what the person said of them.
func (p *Pins) approve(said pin, definitions []Definition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := map[pinKey]bool{}
	for _, d := range definitions {
		if _, known := p.pins[d.key()]; !known {
			fresh[d.key()] = true
		}
	}
	if len(p.pins)+len(fresh) > maxPins {
		return fmt.Errorf("approve %d definitions: %w: at most %d; forget servers that are no longer used", len(definitions), ErrTooManyPins, maxPins)
	}
	for _, d := range definitions {
		said.Hash, said.Approved, said.Definition = d.Hash(), time.Now().UTC(), d.kept()
		p.change()
		p.pins[d.key()], p.fresh[d.key()] = said, said
	}
	return nil
}

// Forget removes everything approved for a server, so that all of it is new.
func (p *Pins) Forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change()
	p.forgotten[server] = true
	for _, pins := range []map[pinKey]pin{p.pins, p.fresh} {
		maps.DeleteFunc(pins, func(key pinKey, _ pin) bool { return key.Server == server })
	}
}

// Approved returns what is approved for a server, sorted by kind and name.
// Fields of more than 32 KiB are cut short.
func (p *Pins) Approved(server string) []Definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Definition
	for key, pin := range p.pins {
		if key.Server == server {
			found = append(found, pin.Definition)
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
	for key := range p.pins {
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
	if p.pins == nil {
		p.pins = map[pinKey]pin{}
	}
	if p.fresh == nil {
		p.fresh, p.forgotten = map[pinKey]pin{}, map[string]bool{}
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
	if len(raw) == 0 || len(raw) <= maxKept && jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil {
		return bytes.Clone(raw)
	}
	return jsonrpc.AppendString(nil, strings.ToValidUTF8(cut(string(raw), maxKept), "\uFFFD"))
}

// cut returns at most max bytes of s, with a mark where something is missing.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "… (cut short)"
}
