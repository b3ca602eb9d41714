package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A question at the start may wait for its answer for long: what changes once the files were read, and before the first look, is no less read.
func TestAFileThatChangesWhileUpStartsIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"there is no server to serve", "junction serves at"} {
		t.Run(said, func(t *testing.T) {
			clitest.Alone(t)
			clitest.Write(t, map[string]string{"s.json": `{"mcpServers":{"a":{"command":"none","disabled":true}}}`})
			ctx, interrupt := context.WithCancelCause(t.Context())
			begun := &watchedBuffer{word: said, seen: sync.OnceFunc(func() { clitest.Write(t, map[string]string{"s.json": `{"mcpServers":{}}`}) })}
			again := &watchedBuffer{word: "Configuration reloaded", seen: func() { interrupt(cli.ErrInterrupted) }}
			timer := time.AfterFunc(20*time.Second, func() { interrupt(cli.ErrInterrupted) })
			defer timer.Stop()
			run(ctx, clitest.PlaceOf(t), []string{"up", "--http", "127.0.0.1:0", "--config", "s.json"}, strings.NewReader(""), io.Discard, io.MultiWriter(begun, again))
			if !strings.Contains(again.String(), again.word) {
				t.Errorf("it says %s", again.String())
			}
		})
	}
}
