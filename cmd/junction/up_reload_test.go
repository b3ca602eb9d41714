package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/terminal"
)

// What waits for a restart is named when the file changes, and only that.
func TestAChangeThatWaitsForARestartIsNamed(t *testing.T) {
	before := func() *arrangement {
		return &arrangement{settings: &settings.Settings{
			Audit:         &settings.Audit{Folder: "log", Sync: "call", MaxFile: "1MB"},
			Authorization: settings.Authorization{Needs: []string{"use"}, Tools: map[string][]string{"files__*": {"write"}}},
		}}
	}
	for name, c := range map[string]struct {
		auth   string
		change func(*arrangement)
		want   string // audit, authorization or nothing
	}{
		"nothing changed":                       {authLocal, func(*arrangement) {}, ""},
		"the folder of the log":                 {authLocal, func(a *arrangement) { a.settings.Audit.Folder = "other" }, "audit"},
		"for how long it is kept":               {authLocal, func(a *arrangement) { a.settings.Audit.KeepFor = time.Hour }, "audit"},
		"where its lines are sent":              {authLocal, func(a *arrangement) { a.settings.Audit.Export = []string{"https://logs.example/v1/logs"} }, "audit"},
		"how large its files become":            {authLocal, func(a *arrangement) { a.settings.Audit.MaxFile = "2MB" }, "audit"},
		"what of calls it keeps":                {authLocal, func(a *arrangement) { a.settings.Audit.Arguments = "omit" }, ""},
		"a tool needs a scope that is known":    {authLocal, func(a *arrangement) { a.settings.Authorization.Tools["db__*"] = []string{"write"} }, ""},
		"a tool needs a scope that is new":      {authLocal, func(a *arrangement) { a.settings.Authorization.Tools["db__*"] = []string{"admin"} }, "authorization"},
		"what everything needs":                 {authLocal, func(a *arrangement) { a.settings.Authorization.Needs = nil }, "authorization"},
		"how long a token holds":                {authLocal, func(a *arrangement) { a.settings.Authorization.TokenTime = time.Hour }, "authorization"},
		"whether tokens are bound":              {authLocal, func(a *arrangement) { a.settings.Authorization.Proofs = "needed" }, "authorization"},
		"whether clients register":              {authLocal, func(a *arrangement) { a.settings.Authorization.RegisteredOnly = true }, "authorization"},
		"a new scope, and an issuer elsewhere":  {"keys,https://login.example", func(a *arrangement) { a.settings.Authorization.Scopes = []string{"x"} }, "authorization"},
		"a new scope where only keys let in":    {authKeys, func(a *arrangement) { a.settings.Authorization.Scopes = []string{"x"} }, ""},
		"a new scope where everybody is let in": {authNone, func(a *arrangement) { a.settings.Authorization.Scopes = []string{"x"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			v := &served{app: ready(&app{screen: terminal.NewScreen(&out)}), layers: &layers{}}
			v.options.auth = c.auth
			v.layers.now.Store(before())
			next := before()
			c.change(next)
			v.reportFixed(next)
			if c.want == "" && out.Len() > 0 || c.want != "" && (!strings.HasPrefix(out.String(), "junction: "+c.want+" is as it was") || strings.Count(out.String(), "\n") != 1) {
				t.Errorf("%q, want what begins with %q", out.String(), c.want)
			}
		})
	}
}

// A question at the start may wait for its answer for long: what changes once the files were read, and before the first look, is no less read.
func TestAFileThatChangesWhileUpStartsIsReadAgain(t *testing.T) {
	for _, said := range []string{"there is no server to serve", "junction serves at"} {
		t.Run(said, func(t *testing.T) {
			alone(t)
			write(t, map[string]string{"s.json": `{"mcpServers":{"a":{"command":"none","disabled":true}}}`})
			ctx, interrupt := context.WithCancelCause(t.Context())
			begun := &watchedBuffer{word: said, seen: sync.OnceFunc(func() { write(t, map[string]string{"s.json": `{"mcpServers":{}}`}) })}
			again := &watchedBuffer{word: "The configuration was read again", seen: func() { interrupt(errInterrupted) }}
			timer := time.AfterFunc(20*time.Second, func() { interrupt(errInterrupted) })
			defer timer.Stop()
			run(ctx, []string{"up", "--http", "127.0.0.1:0", "--config", "s.json"}, strings.NewReader(""), io.Discard, io.MultiWriter(begun, again))
			if !strings.Contains(again.String(), again.word) {
				t.Errorf("it says %s", again.String())
			}
		})
	}
}
