package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// TestReplicasShareCallsThatWait has calls of one replica listed and decided at others. Those of a replica
// that was killed are gone.
func TestReplicasShareCallsThatWait(t *testing.T) {
	t.Parallel()
	const settings = `,"policy":"policy.json","roles":{"dev":{"who":["key:robot"]},"sre":{"who":["key:boss"]}}`
	w := newShared(t, testStore(t), settings)
	w.write("policy.json", `{"default":"allow","rules":[{"effect":"ask","of":"role:sre","for":"1h","tool":"echo","when":"args.text != 'free'"}]}`)
	key := strings.TrimSpace(w.input("", "key", "create", "robot"))
	w.up("--auth", "keys")
	var callers []*mcp.Client
	for _, origin := range w.origins {
		c, err := w.withKey(origin+"/mcp", key)
		if err != nil {
			t.Fatal(err)
		}
		callers = append(callers, c)
	}
	call := func(ctx context.Context, at int, text string) chan string {
		done := make(chan string, 1)
		go func() {
			r, err := callers[at].CallTool(ctx, "echo", map[string]any{"text": text})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- r.Text()
		}()
		return done
	}
	// waits returns the id of the one call that a replica lists.
	waits := func(at int, text string) (id string) {
		w.within("a call is not listed", func() bool {
			list := w.all[at].run("approvals", "list")
			id, _, _ = strings.Cut(list, " ")
			return strings.Contains(list, `echo of s, by robot`) && strings.Contains(list, `{"text":"`+text+`"}`)
		})
		return id
	}
	for at := range w.all {
		text := fmt.Sprint("approved at ", at)
		done := call(t.Context(), 0, text)
		id := waits(at, text)
		w.all[at].run("approvals", "approve", id, "--for", "10m")
		w.within("an approved call does not run", func() bool { return len(done) == 1 })
		if got := <-done; got != text {
			t.Errorf("the call ended with %s", got)
		}
		if out, err := w.all[(at+1)%3].command("approvals", "refuse", id).CombinedOutput(); err == nil {
			t.Errorf("it is decided again: %s", out)
		}
		if got := <-call(t.Context(), (at+2)%3, text); got != text {
			t.Errorf("an equal call at another replica: %s", got)
		}
	}
	refused := call(t.Context(), 2, "no")
	w.all[1].run("approvals", "refuse", waits(1, "no"), "--reason", "not today")
	if got := <-refused; !strings.Contains(got, "refused it: not today") {
		t.Errorf("a refused call ended with %s", got)
	}

	lost := call(t.Context(), 0, "lost")
	waits(2, "lost")
	if err := w.all[0].process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-lost
	for end := time.Now().Add(20 * time.Second); !strings.Contains(w.all[2].run("approvals", "list"), "No call waits"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the call of a replica that was killed is listed after 20 seconds")
		}
	}
}

// TestReplicasShareConcurrency has many calls of one key at three replicas at the same time.
func TestReplicasShareConcurrency(t *testing.T) {
	t.Parallel()
	const concurrent = 4
	var running, most, done atomic.Int64
	tools := mcp.NewServer("s", "1")
	mcp.AddTool(tools, "slow", func(context.Context, struct{}) (string, error) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(30 * time.Millisecond)
		running.Add(-1)
		done.Add(1)
		return "", nil
	})
	server := httptest.NewServer(streamable.Handler(tools))
	t.Cleanup(server.Close)
	w := newShared(t, testStore(t), "")
	w.server = server.URL
	w.configureShared(`["${file:old}"]`, fmt.Sprintf(`,"limits":{"concurrent":%d}`, concurrent))
	key := strings.TrimSpace(w.input("", "key", "create", "robot"))
	w.up("--auth", "keys")
	began := time.Now()
	const count = 240
	var calling sync.WaitGroup
	for _, origin := range w.origins {
		c, err := w.withKey(origin+"/mcp", key)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			calling.Go(func() {
				for range count / 24 {
					if _, err := c.CallTool(t.Context(), "slow", nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	calling.Wait()
	t.Logf("%d calls in %v, at most %d at the same time", done.Load(), time.Since(began), most.Load())
	if most.Load() != concurrent || done.Load() != count {
		t.Errorf("%d calls ran, at most %d at the same time", done.Load(), most.Load())
	}
}

// TestReplicasWitnessTheirLogs replaces the log of a replica by an older copy, and removes it.
func TestReplicasWitnessTheirLogs(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), "")
	w.up("--audit=log")
	log := filepath.Join(w.all[0].dir, "log")
	verify := func(at int) string {
		out, _ := w.all[at].command("audit", "verify", "log", "--config", filepath.Join(w.dir, "mcp.json")).CombinedOutput()
		return string(out)
	}
	use := func() {
		for at, origin := range w.origins {
			w.all[at].run("call", origin+"/mcp", "echo", "text=a")
		}
	}
	use()
	for at := range w.all {
		w.within("the end of a log is not witnessed", func() bool {
			return strings.Contains(verify(at), "it is unchanged, and the store has line ")
		})
	}
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(log)); err != nil {
		t.Fatal(err)
	}
	use()
	if err := w.all[0].process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.all[0].waitFor(func() bool { // it closes the log at the end
		lock, err := filelock.Try(filepath.Join(log, "lock"))
		return err == nil && lock.Close() == nil
	})
	if got := verify(0); !strings.Contains(got, "it is unchanged, and the store has line ") {
		t.Errorf("verify prints %s", got)
	}
	if err := errors.Join(os.RemoveAll(log), os.CopyFS(log, os.DirFS(older))); err != nil {
		t.Fatal(err)
	}
	if got := verify(0); !strings.Contains(got, "which the store of the replicas has") || !strings.Contains(got, "IT WAS CHANGED") {
		t.Errorf("for an older copy, verify prints %s", got)
	}
	if got := w.all[0].run("audit", "verify", "log"); !strings.Contains(got, "it is unchanged\n") {
		t.Errorf("without the store, verify prints %s", got)
	}
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	if got := verify(0); !strings.Contains(got, "the log is missing") {
		t.Errorf("without a log, verify prints %s", got)
	}
	if got := verify(1); !strings.Contains(got, "it is unchanged") {
		t.Errorf("of another replica, verify prints %s", got)
	}
}
