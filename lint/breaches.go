package lint

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

// maxBreaches is how many kinds of breaches on the wire are kept.
const maxBreaches = 100

// Breaches are the breaches of the specification that a connection meets and works around:
// its [Breaches.Logger] is given to the [mcp.ClientOptions] and to the transport. The zero value is
// ready, and safe for concurrent use.
type Breaches struct {
	mu    sync.Mutex
	heard []heard
}

// heard is a breach, and how often the same thing happened to other lines, ids and methods.
type heard struct {
	first   Breach
	message string
	more    int
}

// Logger returns a logger that hears of breaches, and passes everything on to next, unless
// that is nil.
func (b *Breaches) Logger(next *slog.Logger) *slog.Logger {
	h := listener{to: b, next: slog.DiscardHandler}
	if next != nil {
		h.next = next.Handler()
	}
	return slog.New(h)
}

// All returns what was heard so far, each kind once; of a nil Breaches nothing.
func (b *Breaches) All() []Breach {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Breach
	for _, h := range b.heard {
		if h.more > 0 {
			h.first.What += fmt.Sprintf("; %d more like it", h.more)
		}
		all = append(all, h.first)
	}
	return all
}

// add keeps a breach, or counts it where the message was heard already: a server that writes a log to its
// standard output has one fault, and not one for each line.
func (b *Breaches) add(message string, one Breach) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.heard, func(h heard) bool { return h.message == message && h.first.Rule == one.Rule })
	switch {
	case at >= 0 && b.heard[at].first != one:
		b.heard[at].more++
	case at < 0 && len(b.heard) < maxBreaches:
		b.heard = append(b.heard, heard{first: one, message: message})
	}
}

// A listener hears the records that have [mcp.LogBreach].
type listener struct {
	to   *Breaches
	next slog.Handler
}

func (listener) Enabled(context.Context, slog.Level) bool { return true }

func (l listener) Handle(ctx context.Context, r slog.Record) error {
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
		l.to.add(r.Message, Breach{What: what, Rule: rule})
	}
	if l.next.Enabled(ctx, r.Level) {
		return l.next.Handle(ctx, r)
	}
	return nil
}

func (l listener) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.next = l.next.WithAttrs(attrs)
	return l
}

func (l listener) WithGroup(name string) slog.Handler {
	l.next = l.next.WithGroup(name)
	return l
}
