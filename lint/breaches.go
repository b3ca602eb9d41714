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

// maxBreaches is how many kinds of breaches on the wire are kept.
const maxBreaches = 100

// Breaches are the breaches of the specification that a connection meets and works around:
// its [Breaches.Logger] is given to the [mcp.ClientOptions] and to the transport. The zero value is
// ready, and safe for concurrent use.
type Breaches struct {
	mu  sync.Mutex
	met []met
}

// met is a breach, and how often the same thing happened to other lines, ids and methods.
type met struct {
	first   Breach
	message string
	more    int
}

// Logger returns a logger that keeps breaches, and passes everything on to next, unless
// that is nil.
func (b *Breaches) Logger(next *slog.Logger) *slog.Logger {
	to := slog.DiscardHandler
	if next != nil {
		to = next.Handler()
	}
	return tolerance.Observe(to, b.see)
}

// All returns what was met so far, each kind once; of a nil Breaches nothing.
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

// add keeps a breach, or counts it where the message was met already: a server that writes a log to its
// standard output has one fault, and not one for each line.
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

// see adds a record that has [mcp.LogBreach].
func (b *Breaches) see(r slog.Record) {
	rule := ""
	what := strings.TrimPrefix(r.Message, "mcp: ")
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case mcp.LogBreach:
			rule = a.Value.String()
		case "server": // which is known
		default:
			what += ", " + a.Key + " " + a.Value.String()
		}
		return true
	})
	if rule != "" {
		b.add(r.Message, Breach{What: what, Rule: rule})
	}
}
