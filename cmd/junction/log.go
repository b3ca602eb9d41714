package main

import (
	"log/slog"
	"strings"

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
	if a.flags.verbose {
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
	case a.flags.verbose:
		level = slog.LevelDebug
	case !known:
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(a.screen, &slog.HandlerOptions{Level: level}))
	if a.breaches != nil {
		return a.breaches.Logger(log)
	}
	return log
}
