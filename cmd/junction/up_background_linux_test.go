package main

import (
	"bufio"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A question would stop it before a word of it is shown: it begins without what it would ask about, and says so.
func TestUpInTheBackgroundOfATerminalAsksNothing(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers":{"a":{"command":"run-a"}}}`})
	keyboard, screen := clitest.PseudoTerminal(t)
	// A shell that has jobs (-m) gives each a group of its own.
	shell := child(t, "sh", append([]string{"-mc", `"$0" "$@" & echo job $!; wait`}, self(t, "up", "--http", "127.0.0.1:0")...)...)
	shell.Stdin, shell.Stdout, shell.Stderr = screen, screen, screen
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	timer := time.AfterFunc(20*time.Second, func() { keyboard.Close() })
	defer timer.Stop()
	var said []string
	job := 0
	for lines := bufio.NewScanner(keyboard); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		said = append(said, line)
		if pid, is := strings.CutPrefix(line, "job "); is {
			var err error
			if job, err = strconv.Atoi(pid); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(line, "There is no server to serve") {
			break
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{`junction: server "a" of the project's file `, "is not started: a process in the background cannot ask questions; to use its definitions without a question, name it: --config ", "junction serves at http://127.0.0.1:"} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
	if job == 0 || syscall.Kill(job, syscall.SIGKILL) != nil {
		t.Errorf("the job %d is not there", job)
	}
	keyboard.Close() // the shell has nothing more to wait for
	_ = shell.Wait()
}
