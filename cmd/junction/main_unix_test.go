//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// alive reports whether a process is there, and not only waits to be reaped.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(state, "Z")
}

// slowServers are a configuration of two servers that never speak, of which one does
// not obey, and the file in which they write their process ids.
func slowServers(t *testing.T) (config string, started func() (pids []int)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pids")
	script := func(text string) map[string]any {
		return map[string]any{"command": "sh", "args": []string{"-c", text, path}}
	}
	config = configuration(t, map[string]any{
		"slow": script(`trap "" INT TERM; echo $$ >> "$0"; sleep 300`),
		"mute": script(`echo $$ >> "$0"; exec sleep 301`),
	})
	return config, func() (pids []int) {
		data, _ := os.ReadFile(clitest.In(t, path))
		for _, word := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		return pids
	}
}

func TestSecondInterruptKillsServers(t *testing.T) {
	clitest.Alone(t)
	config, started := slowServers(t)
	for _, command := range []string{"list", "up --http 127.0.0.1:0"} {
		before := len(started())
		argv := self(t, append(strings.Fields(command), "--config", config)...)
		cmd := child(t, argv[0], argv[1:]...)
		var stderr clitest.SafeBuffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "two servers are started", func() bool { return len(started()) == before+2 })
		cmd.Process.Signal(os.Interrupt)
		waitFor(t, "the interrupt is heard", func() bool {
			return strings.Contains(stderr.String(), "Ctrl-C again kills the processes that still run")
		})
		time.Sleep(2 * sameSignal)
		cmd.Process.Signal(os.Interrupt)
		if cmd.Wait(); cmd.ProcessState.ExitCode() != cli.ExitInterrupted {
			t.Errorf("%s: %v", command, cmd.ProcessState)
		}
		waitFor(t, command+": all that was started is gone", func() bool {
			for _, pid := range started()[before:] {
				if alive(pid) || syscall.Kill(-pid, 0) == nil && alive(-pid) {
					return false
				}
			}
			return true
		})
	}
}

// The second interrupt cuts the drain short, so that the process ends by itself and at once.
func TestSecondInterruptEndsTheDrain(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "up", "--http", "127.0.0.1:0", "--drain-time", "5m", "everything")
	cmd := child(t, argv[0], argv[1:]...)
	var stderr clitest.SafeBuffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)
	waitFor(t, "it serves", func() bool { return address.MatchString(stderr.String()) })
	url := address.FindString(stderr.String())
	called := make(chan outcome, 1)
	go func() { called <- runs(t, "", "call", url, "everything__wait", "milliseconds=600000") }()
	waitFor(t, "the call runs", func() bool {
		return strings.Contains(runs(t, "", "status", "--json").stdout, `"running": 1`)
	})
	cmd.Process.Signal(os.Interrupt)
	waitFor(t, "the interrupt is heard", func() bool { return strings.Contains(stderr.String(), "Ctrl-C again kills") })
	time.Sleep(2 * sameSignal)
	cmd.Process.Signal(os.Interrupt)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != cli.ExitInterrupted || !strings.Contains(stderr.String(), "some requests were still running and were cancelled") {
		t.Errorf("%v\n%s", cmd.ProcessState, stderr.String())
	}
	if got := <-called; got.code == cli.ExitOK {
		t.Errorf("the call: %+v", got)
	}
}

func TestAnInterruptSaysThatItIsHeard(t *testing.T) {
	clitest.Alone(t)
	config, started := slowServers(t)
	argv := self(t, "list", "--config", config)
	cmd := child(t, argv[0], argv[1:]...)
	var stdout, stderr clitest.SafeBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "two servers are started", func() bool { return len(started()) == 2 })
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	said := stderr.String()
	if cmd.ProcessState.ExitCode() != cli.ExitInterrupted || stdout.String() != "" ||
		!strings.HasSuffix(said, "junction: stopping; Ctrl-C again kills the processes that still run\njunction: no answer from mute, slow\njunction: interrupted\n") {
		t.Errorf("%v\n%s\n%s", cmd.ProcessState, stdout.String(), said)
	}
}

func TestTimeoutsQuoteInvalidLines(t *testing.T) {
	clitest.Alone(t)
	for _, command := range []string{"tools", "ping"} {
		got := runs(t, "", command, "--timeout", "2s", "--", "sh", "-c", "echo; echo listening; echo again; sleep 60")
		if got.code != cli.ExitTimeout || !strings.HasSuffix(got.stderr, `: not connected within 2s; its output has a line that is not a message, and perhaps is a part of one: "listening"; --timeout allows more time`+"\n") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestATimeoutIsKept(t *testing.T) {
	clitest.Alone(t)
	began := time.Now()
	// A busy machine may need a second to start a process with the race detector.
	got := runs(t, "", "tools", "--timeout", "3s", "--", "sleep", "600")
	if got.code != cli.ExitTimeout || got.stderr != "junction: server \"sleep 600\": initialize: not connected within 3s; --timeout allows more time\n" {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > guardTime {
		t.Errorf("it took %v", took)
	}
}
