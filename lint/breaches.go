package lint

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
)

// maxBreaches is the largest number of different breaches that are stored.
const maxBreaches = 100

// Breaches collects the breaches of the specification that a connection works around. Pass its
// [Breaches.Logger] to the [mcp.ClientOptions] and to the transport. The zero value is ready to use
// and safe for concurrent use.
type Breaches struct {
	mu  sync.Mutex
	met []met
}

// met is a breach with the number of breaches that differ from it only in their line, id or method.
type met struct {
	first   Breach
	message string
	more    int
}

// Logger returns a logger that stores breaches. It passes all records to next, which may be nil.
func (b *Breaches) Logger(next *slog.Logger) *slog.Logger {
	to := slog.DiscardHandler
	if next != nil {
		to = next.Handler()
	}
	return tolerance.Observe(to, b.see)
}

// All returns the breaches so far, each kind once. It returns nil for a nil Breaches.
func (b *Breaches) All() []Breach {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Breach
	for _, h := range b.met {
		if h.more > 0 {
			h.first.What += fmt.Sprintf("; %d more like it", h.more)
		}
		all = append(all, h.first)
	}
	return all
}

// add stores a breach, or counts it if one with the same message is stored. A server that writes a
// log to its standard output has one fault and not one for each line.
func (b *Breaches) add(message string, one Breach) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.met, func(h met) bool { return h.message == message && h.first.Rule == one.Rule })
	switch {
	case at >= 0 && b.met[at].first != one:
		b.met[at].more++
	case at < 0 && len(b.met) < maxBreaches:
		b.met = append(b.met, met{first: one, message: message})
	}
}

// see stores the breach in a record that has the attribute [mcp.LogBreach].
func (b *Breaches) see(r slog.Record) {
	rule := ""
	what := strings.TrimPrefix(r.Message, "mcp: ")
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case mcp.LogBreach:
			rule = a.Value.String()
		case "server": // already known
		default:
			what += ", " + a.Key + " " + a.Value.String()
		}
		return true
	})
	if rule != "" {
		b.add(r.Message, Breach{What: what, Rule: rule})
	}
}
