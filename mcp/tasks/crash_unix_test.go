//go:build unix

package tasks

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/state/sqlite"
)

// TestMain runs the server of the crash test if the environment asks for it.
func TestMain(m *testing.M) {
	if folder := os.Getenv("TASKS_FOLDER"); folder != "" {
		if err := serveUntilKilled(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type job struct {
	Name string `json:"name"`
	For  int    `json:"for"` // milliseconds
}

// serveUntilKilled serves one tool, which records that it ran.
func serveUntilKilled(folder string) error {
	store, err := sqlite.Open(context.Background(), filepath.Join(folder, "state.db"))
	if err != nil {
		return err
	}
	effects, err := os.OpenFile(filepath.Join(folder, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s := mcp.NewServer("jobs", "1")
	mcp.AddTool(s, "work", func(ctx context.Context, in job) (string, error) {
		if _, err := fmt.Fprintln(effects, in.Name); err != nil {
			return "", err
		}
		select {
		case <-time.After(time.Duration(in.For) * time.Millisecond):
			return "done " + in.Name, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	long, err := New(Options{Tools: map[string]Tool{"work": {}}, Store: store, Poll: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	long.lease = time.Second
	return stdio.Serve(context.Background(), long.Middleware()(s))
}

// A server that runs 100 tasks is killed at a random moment and started again. Each task must be
// completed or failed, and none may run twice. TASKS_KILLS is the number of kills.
func TestTasksSurviveTheirServer(t *testing.T) {
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("TASKS_KILLS")); err == nil {
		kills = n
	}
	folder := t.TempDir()
	finished, failed := 0, 0
	for round := range kills {
		begun := beginAndKill(t, folder, round)
		c, cmd := startServer(t, folder)
		for name, id := range begun {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			result, err := Resume(c, id).Wait(ctx)
			cancel()
			switch {
			case err == nil && result.Text() == "done "+name:
				finished++
			case err != nil && strings.Contains(err.Error(), "the process that ran the task ended"):
				failed++
			default:
				t.Errorf("round %d: task %s: %+v, %v", round, name, result, err)
			}
		}
		c.Close()
		_ = cmd.Wait()
	}
	effects, err := os.ReadFile(filepath.Join(folder, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, name := range strings.Fields(string(effects)) {
		if ran[name] {
			t.Errorf("task %s ran twice", name)
		}
		ran[name] = true
	}
	t.Logf("%d kills: %d tasks finished, %d failed, %d ran", kills, finished, failed, len(ran))
	if finished+failed == 0 {
		t.Error("no task began")
	}
}

// beginAndKill begins 100 tasks and kills the server while they run. It returns the ids of those
// that the server reported.
func beginAndKill(t *testing.T, folder string, round int) map[string]string {
	c, cmd := startServer(t, folder)
	defer c.Close()
	var mu sync.Mutex
	begun := map[string]string{}
	var calls sync.WaitGroup
	first := sync.OnceFunc(func() {
		time.AfterFunc(time.Duration(rand.IntN(1500))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	})
	for i := range 100 {
		calls.Go(func() {
			name := fmt.Sprintf("%d-%d", round, i)
			_, task, err := Start(t.Context(), c, "work", job{name, rand.IntN(2000)})
			first()
			if err != nil {
				return // the server was killed before it responded
			}
			mu.Lock()
			defer mu.Unlock()
			begun[name] = task.ID
		})
	}
	calls.Wait()
	_ = cmd.Wait()
	return begun
}

// pipes is a program's standard input and output.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p pipes) Close() error {
	p.in.Close()
	return p.ReadCloser.Close()
}

func startServer(t *testing.T, folder string) (*mcp.Client, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TASKS_FOLDER="+folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.DialWith(t.Context(), stream.Over(pipes{out, in}, "jobs"), mcp.ClientOptions{Capabilities: Capabilities()})
	if err != nil {
		t.Fatal(err)
	}
	return c, cmd
}
