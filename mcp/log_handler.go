package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
)

// LogHandler returns a [slog.Handler] that sends records to the client, as [LogWith] does. The
// parameter logger is the name of the logger, or empty. The context of the record determines the
// request, and thus the client, so use methods with a context, such as [slog.Logger.InfoContext].
// The Handler drops records without such a request, and records below the client's log level. The
// data of a message is an object with the message and the attributes.
func LogHandler(logger string) slog.Handler {
	return &logHandler{logger, func(h slog.Handler) slog.Handler { return h }}
}

type logHandler struct {
	logger string
	with   func(slog.Handler) slog.Handler // adds all groups and attributes so far
}

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
	return req != nil && req.Meta.LogLevel.Severity() > 0 && logLevelOf(l).Severity() >= req.Meta.LogLevel.Severity()
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
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
	return &logHandler{h.logger, func(inner slog.Handler) slog.Handler { return h.with(inner).WithAttrs(attrs) }}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.logger, func(inner slog.Handler) slog.Handler { return h.with(inner).WithGroup(name) }}
}
