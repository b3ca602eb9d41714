//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Whenever junction up is killed, its audit log has every call that was answered. UP_KILLS is how often
// it is.
func TestKilledUpHasLoggedItsAnswers(t *testing.T) {
	kills := 3
	if n, err := strconv.Atoi(clitest.PlaceOf(t).Getenv("UP_KILLS")); err == nil {
		kills = n
	}
	clitest.Alone(t)
	answered := map[string]bool{}
	var mu sync.Mutex
	for round := range kills {
		argv := self(t, "up", "--http", "127.0.0.1:0", "--audit=log", "everything")
		cmd := child(t, argv[0], argv[1:]...)
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		url := ""
		lines := bufio.NewScanner(said)
		for url == "" && lines.Scan() {
			url = address.FindString(lines.Text())
		}
		go func() {
			for lines.Scan() {
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var calling sync.WaitGroup
		for i := range 8 {
			calling.Go(func() {
				c, err := mcp.DialWith(ctx, streamable.Client(url), mcp.ClientOptions{Revision: []string{"2025-11-25", "2026-07-28"}[i%2]})
				if err != nil {
					return // it is killed already
				}
				defer c.Close()
				for n := 0; ; n++ {
					message := fmt.Sprintf("%d-%d-%d", round, i, n)
					if _, err := c.CallTool(ctx, "everything__echo", map[string]string{"message": message}); err != nil {
						return
					}
					mu.Lock()
					answered[message] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(50*time.Millisecond + time.Duration(rand.IntN(200_000))*time.Microsecond) // at any moment
		if round == kills-1 {                                                                // a busy machine may have answered none so far
			waitFor(t, "an answer", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(answered) > 0
			})
		}
		_ = cmd.Process.Kill()
		calling.Wait()
		cancel()
		_ = cmd.Wait()
	}
	if len(answered) == 0 {
		t.Fatal("no call was answered")
	}
	t.Logf("%d kills, %d calls were answered", kills, len(answered))
	for line, err := range audit.Read(clitest.In(t, "log"), audit.Filter{Kind: audit.KindCall}) {
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Arguments struct{ Message string } }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		delete(answered, l.Arguments.Message)
	}
	for message := range answered {
		t.Errorf("the call %s was answered and is not in the log", message)
	}
	runs(t, "", "audit", "verify", "log").expect(t, cli.ExitOK, "it is unchanged", "")
}
