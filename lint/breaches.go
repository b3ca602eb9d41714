package lint

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

// maxBreaches is how many different breaches on the wire are kept.
const maxBreaches = 100

// Breaches are the breaches of the specification that a connection meets and works around:
// its [Breaches.Logger] is given to the [mcp.ClientOptions] and to the transport. The zero value is
// ready, and safe for concurrent use.
type Breaches struct {
	mu   sync.Mutex
	seen []Breach
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

// All returns what was heard so far; of a nil Breaches nothing.
func (b *Breaches) All() []Breach {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

func (b *Breaches) add(one Breach) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) < maxBreaches && !slices.Contains(b.seen, one) {
		b.seen = append(b.seen, one)
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
		l.to.add(Breach{What: what, Rule: rule})
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
