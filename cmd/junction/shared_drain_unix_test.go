//go:build unix

package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A replica that ends still serves for some time. It notices a revoked key meanwhile, and counts calls
// in the store.
func TestAReplicaThatEndsFollowsTheStore(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), `,"limits":{"rate":"600/m"}`)
	key := strings.TrimSpace(w.input("", "key", "create", "robot"))
	at := freeAddress(t)
	cmd := newWorld(t).command("up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", at, "--auth", "keys", "--drain-delay", "30s")
	printed := new(clitest.SafeBuffer)
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	waitForText(t, printed, "junction serves at ")
	c, err := w.withKey("http://"+at+"/mcp", key)
	if err != nil {
		t.Fatal(err)
	}
	call := func() (time.Duration, error) {
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"text": "a"})
		return time.Since(began), err
	}
	if _, err := call(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForText(t, printed, "junction up ends in 30s")
	time.Sleep(2 * time.Second)
	for i := range 3 {
		if took, err := call(); err != nil || took > 700*time.Millisecond {
			t.Errorf("call %d while the replica ends: %v, %v", i, took, err)
		}
	}
	w.input("", "key", "remove", "robot")
	w.within("a revoked key is accepted while the replica ends", func() bool {
		_, err := w.connect(streamable.ClientWith("http://"+at+"/mcp", streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}))
		return err != nil
	})
}
