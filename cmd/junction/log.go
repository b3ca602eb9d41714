package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// The forms of what stands on standard error.
const (
	logText = "text"
	logJSON = "json"
)

// logLevels are the levels of slog, by the words for them.
func logLevels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}

// logFlags are those of commands that run for long, whose standard error another program may read.
func (a *app) logFlags(f *pflag.FlagSet) {
	f.StringVar(&a.flags.logFormat, "log-format", logText, "write standard error as `text|json`: text for people, or one JSON object a line; then nobody is asked anything")
	f.StringVar(&a.flags.lowestLog, "log-level", "", "log from this `LEVEL` on: debug, info, warn or error (default warn, with --log-format json info, with -v debug)")
}

// startLog has standard error be what the flags say.
func (a *app) startLog() error {
	level, known := logLevels()[a.flags.lowestLog]
	switch {
	case a.flags.logFormat != logText && a.flags.logFormat != logJSON:
		return usagef("--log-format: expected text or json, got %q", a.flags.logFormat)
	case a.flags.lowestLog != "" && !known:
		return usagef("--log-level: expected debug, info, warn or error, got %q", a.flags.lowestLog)
	case a.flags.logFormat == logText:
		return nil
	case !known:
		level = slog.LevelInfo
	}
	if a.launch.Verbose {
		level = slog.LevelDebug
	}
	a.log = slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	a.person, a.desk.Person = nil, nil
	a.screen.Hand(func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(strings.TrimPrefix(line, "junction: ")); line != "" {
				a.log.Info(line)
			}
		}
	})
	return nil
}

// logger writes to stderr: warnings, or what flags say.
func (a *app) logger() *slog.Logger {
	if a.log != nil {
		return a.log
	}
	level, known := logLevels()[a.flags.lowestLog]
	switch {
	case a.launch.Verbose:
		level = slog.LevelDebug
	case !known:
		level = slog.LevelWarn
	}
	log := slog.New(newLineHandler(a.screen, level))
	if a.breaches != nil {
		return a.breaches.Logger(log)
	}
	return log
}

// levelPrefix is what a line of the log begins with on standard error, as all that Junction says there begins with "junction: ".
func levelPrefix(level slog.Level) string {
	word := "debug"
	switch {
	case level >= slog.LevelError:
		word = "error"
	case level >= slog.LevelWarn:
		word = "warning"
	case level >= slog.LevelInfo:
		word = "info"
	}
	return "junction: " + word + ": "
}

// A lineHandler writes each record as a line for people: its level, its message, and its attributes as [slog.TextHandler] has them.
type lineHandler struct {
	to         io.Writer
	attributes slog.Handler // writes to line

	mu   *sync.Mutex
	line *bytes.Buffer
}

func newLineHandler(to io.Writer, lowest slog.Level) *lineHandler {
	h := &lineHandler{to: to, mu: new(sync.Mutex), line: new(bytes.Buffer)}
	h.attributes = slog.NewTextHandler(h.line, &slog.HandlerOptions{Level: lowest, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		_, isLevel := a.Value.Any().(slog.Level)
		if len(groups) == 0 && (a.Key == slog.LevelKey && isLevel || a.Key == slog.MessageKey && a.Value.String() == "") {
			return slog.Attr{}
		}
		return a
	}})
	return h
}

// Enabled implements [slog.Handler].
func (h *lineHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.attributes.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	bare := slog.NewRecord(time.Time{}, r.Level, "", r.PC)
	r.Attrs(func(a slog.Attr) bool { bare.AddAttrs(a); return true })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	err := h.attributes.Handle(ctx, bare)
	text := strings.ReplaceAll(strings.TrimPrefix(r.Message, "junction: "), "\n", `\n`)
	if attributes := strings.TrimSpace(h.line.String()); attributes != "" {
		text += " " + attributes
	}
	_, unwritten := io.WriteString(h.to, levelPrefix(r.Level)+text+"\n")
	return errors.Join(err, unwritten)
}

// WithAttrs implements [slog.Handler].
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attributes = h.attributes.WithAttrs(attrs)
	return &with
}

// WithGroup implements [slog.Handler].
func (h *lineHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.attributes = h.attributes.WithGroup(name)
	return &with
}
