package tolerance

import (
	"context"
	"log/slog"
)

// Observe returns a logger that passes every record to next, and records of all levels to see.
func Observe(next slog.Handler, see func(r slog.Record)) *slog.Logger {
	return slog.New(observer{next, see})
}

type observer struct {
	slog.Handler
	see func(slog.Record)
}

// Enabled reports true for every level, because tolerances are recorded at level debug.
func (observer) Enabled(context.Context, slog.Level) bool { return true }

func (o observer) Handle(ctx context.Context, r slog.Record) error {
	o.see(r)
	if o.Handler.Enabled(ctx, r.Level) {
		return o.Handler.Handle(ctx, r)
	}
	return nil
}

func (o observer) WithAttrs(attrs []slog.Attr) slog.Handler {
	return observer{o.Handler.WithAttrs(attrs), o.see}
}

func (o observer) WithGroup(name string) slog.Handler {
	return observer{o.Handler.WithGroup(name), o.see}
}
