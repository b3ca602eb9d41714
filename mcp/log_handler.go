package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// LogHandler returns a [slog.Handler] that sends records to the client, as [LogWith] does. The
// parameter logger is the name of the logger, or empty. The context of the record determines the
// request, and thus the client, so use methods with a context, such as [slog.Logger.InfoContext].
// The Handler drops records without such a request, and records below the client's log level. It
// sends at most 200 records of a request in a second, and then a warning in place of the others. It
// drops records about the sending itself. The data of a message is an object with the message and the
// attributes.
func LogHandler(logger string) slog.Handler {
	return &logHandler{logger, new(logRate), func(h slog.Handler) slog.Handler { return h }}
}

type logHandler struct {
	logger string
	rate   *logRate                        // the same for all handlers that WithAttrs and WithGroup return
	with   func(slog.Handler) slog.Handler // adds all groups and attributes so far
}

const (
	maxLogRecords  = 200     // records of one request in a second
	maxLogRequests = 4 << 10 // requests with records in a second that are counted
)

// A logRate counts the records of each request in the current second.
type logRate struct {
	mu     sync.Mutex
	second int64
	counts map[*Request]int
}

// take adds a record. It returns the number of records of the request in this second.
func (r *logRate) take(req *Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().Unix()
	if now != r.second || len(r.counts) >= maxLogRequests {
		r.second, r.counts = now, map[*Request]int{}
	}
	r.counts[req]++
	return r.counts[req]
}

// sendingKey marks the context in which a record is sent.
type sendingKey struct{}

// withoutOwn removes attributes that the log message has already, or that the client does not need.
func withoutOwn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.TimeKey) {
		return slog.Attr{}
	}
	return a
}

func logLevelOf(l slog.Level) LogLevel {
	switch {
	case l >= slog.LevelError:
		return LogError
	case l >= slog.LevelWarn:
		return LogWarning
	case l >= slog.LevelInfo:
		return LogInfo
	}
	return LogDebug
}

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	req := RequestFrom(ctx)
	return req != nil && ctx.Value(sendingKey{}) == nil && req.Meta.LogLevel.Severity() > 0 && logLevelOf(l).Severity() >= req.Meta.LogLevel.Severity()
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	req := RequestFrom(ctx)
	if req == nil || ctx.Value(sendingKey{}) != nil {
		return nil
	}
	ctx = context.WithValue(ctx, sendingKey{}, true)
	switch n := h.rate.take(req); {
	case n == maxLogRecords+1:
		return LogWith(ctx, h.logger, LogWarning, map[string]string{"msg": fmt.Sprintf("further records are dropped: at most %d in a second", maxLogRecords)})
	case n > maxLogRecords:
		return nil
	}
	var text bytes.Buffer
	inner := h.with(slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutOwn}))
	if err := inner.Handle(ctx, r); err != nil {
		return err
	}
	var data any // decoding removes duplicate names
	decoder := json.NewDecoder(&text)
	decoder.UseNumber()
	if err := decoder.Decode(&data); err != nil {
		return err
	}
	return LogWith(ctx, h.logger, logLevelOf(r.Level), data)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.logger, h.rate, func(inner slog.Handler) slog.Handler { return h.with(inner).WithAttrs(attrs) }}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.logger, h.rate, func(inner slog.Handler) slog.Handler { return h.with(inner).WithGroup(name) }}
}
