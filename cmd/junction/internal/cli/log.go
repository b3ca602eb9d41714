package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config/settings"
)

// logLevels returns the log levels by name.
func logLevels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}

// StartLog sets up standard error with a format and a lowest level of the settings, which may be
// empty. With JSON the user can no longer be asked.
func (a *App) StartLog(format, lowest string) {
	a.Flags.LowestLog = lowest
	if format != settings.LogJSON {
		return
	}
	level, known := logLevels()[lowest]
	if !known {
		level = slog.LevelInfo
	}
	if a.Launch.Verbose {
		level = slog.LevelDebug
	}
	a.Log = slog.New(slog.NewJSONHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
	a.Person, a.Desk.Person = nil, nil
	a.Screen.Hand(func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(strings.TrimPrefix(line, "junction: ")); line != "" {
				a.Log.Info(line)
			}
		}
	})
}

// Logger returns a logger to standard error. The lowest level is warn unless a flag sets another.
func (a *App) Logger() *slog.Logger {
	if a.Log != nil {
		return a.Log
	}
	level, known := logLevels()[a.Flags.LowestLog]
	switch {
	case a.Launch.Verbose:
		level = slog.LevelDebug
	case !known:
		level = slog.LevelWarn
	}
	log := slog.New(NewLineHandler(a.Screen, level))
	if a.Breaches != nil {
		return a.Breaches.Logger(log)
	}
	return log
}

// LevelPrefix returns the beginning of a log line of a level, such as "junction: warning: ".
func LevelPrefix(level slog.Level) string {
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

// A lineHandler writes each record as a line of text with its level, its message, and its
// attributes in the format of [slog.TextHandler].
type lineHandler struct {
	to         io.Writer
	attributes slog.Handler // writes attributes to line

	mu   *sync.Mutex
	line *bytes.Buffer
}

// NewLineHandler returns a handler that writes records from the level lowest on as lines of text.
func NewLineHandler(to io.Writer, lowest slog.Level) *lineHandler {
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
	_, unwritten := io.WriteString(h.to, LevelPrefix(r.Level)+text+"\n")
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

// RefusalInterval is the shortest time between two log lines about refused clients.
const RefusalInterval = 10 * time.Second

// MaxLineKinds is the largest number of kinds of lines that are counted separately.
const MaxLineKinds = 16

// ServerLog returns a logger for servers of net/http. Anyone who can reach the port can cause log
// lines. Therefore the logger writes only one line of each kind per [RefusalInterval], with the
// number of suppressed lines.
func (a *App) ServerLog() *log.Logger {
	return log.New(&LineCounter{Log: a.Logger(), Now: time.Now, Kinds: map[string]*LineCount{}}, "", 0)
}

// LineCounter is an [io.Writer] that counts lines of a kind and logs only some of them. It is safe
// for concurrent use.
type LineCounter struct {
	Log *slog.Logger
	Now func() time.Time

	mu    sync.Mutex
	Kinds map[string]*LineCount
}

// LineCount counts the lines of one kind.
type LineCount struct {
	at     time.Time
	unsaid int // number of lines since the last logged one
}

// Write implements [io.Writer]. line must be a complete line.
func (s *LineCounter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	kind, _, _ := strings.Cut(text, " from ") // the rest names the client's address
	kind, _, _ = strings.Cut(kind, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Kinds[kind] == nil && len(s.Kinds) >= MaxLineKinds {
		kind = ""
	}
	k := s.Kinds[kind]
	if k == nil {
		k = new(LineCount)
		s.Kinds[kind] = k
	}
	k.unsaid++
	if now := s.Now(); now.Sub(k.at) >= RefusalInterval {
		s.Log.Warn(text, "times", k.unsaid)
		k.at, k.unsaid = now, 0
	}
	return len(line), nil
}
