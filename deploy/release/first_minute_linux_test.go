package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// Limits of the first minute with a release.
const (
	firstCallTime    = 10 * time.Second // from the archive to the first answered call
	firstConnectTime = 5 * time.Second  // from host connect to a call through the entry of the host
)

// A machine is a machine without Go, without another program, and with an empty home folder.
type machine struct {
	home, program string
}

// newMachine unpacks the archive of a release on a new machine.
func newMachine(t *testing.T, folder string) machine {
	t.Helper()
	m := machine{t.TempDir(), filepath.Join(t.TempDir(), "junction")}
	do(t, filepath.Dir(m.program), "tar", "-xf", one(t, folder, "junction_*_linux_*.tar.xz"))
	return m
}

// environment returns all variables of a user of the machine.
func (m machine) environment() []string {
	return []string{"HOME=" + m.home, "PATH=" + filepath.Dir(m.program)}
}

// command returns the command of Junction with arguments, as the user of the machine runs it.
func (m machine) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), m.program, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = m.environment(), m.home, t.Output()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// checkFirstCall starts junction up, and calls a tool through it, on a new machine.
func checkFirstCall(t *testing.T, folder string) {
	began := time.Now()
	m := newMachine(t, folder)
	unpacked := time.Since(began)
	up := m.command(t, "up", "--http", "127.0.0.1:0")
	up.Stderr = nil
	out, err := up.StderrPipe()
	must(t, err)
	must(t, up.Start())
	urls, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, url, found := strings.Cut(lines.Text(), "junction serves at "); found {
				urls <- url
				break
			}
		}
		close(urls)
		_, _ = io.Copy(io.Discard, out)
	}()
	url := <-urls
	answer, err := m.command(t, "call", url, "everything__echo", "message=hello").Output()
	took := time.Since(began)
	if err != nil || string(answer) != "hello\n" {
		t.Errorf("call: %q, %v", answer, err)
	}
	must(t, up.Process.Signal(syscall.SIGTERM))
	<-drained
	if err := up.Wait(); err != nil {
		t.Errorf("junction up: %v", err)
	}
	t.Logf("from the archive to the first answered call: %v, of that %v to unpack", took.Round(time.Millisecond), unpacked.Round(time.Millisecond))
	if took > firstCallTime {
		t.Errorf("the first call took %v; at most %v is allowed", took, firstCallTime)
	}
}

// checkFirstConnect connects Cursor on a new machine, and calls a tool as Cursor does: through the
// command in its file.
func checkFirstConnect(t *testing.T, folder string) {
	m := newMachine(t, folder)
	began := time.Now()
	if out, err := m.command(t, "host", "connect", "cursor", "--yes").Output(); err != nil {
		t.Fatalf("host connect: %v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(m.home, ".cursor/mcp.json"))
	must(t, err)
	var file struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	must(t, json.Unmarshal(text, &file))
	entry := file.Servers["junction"]
	if len(file.Servers) != 1 || entry.Command != m.program {
		t.Fatalf("the file of Cursor is %s", text)
	}
	server := command.New(entry.Command, entry.Args...)
	server.Env, server.Dir = []string{"HOME=" + m.home}, m.home
	c, err := mcp.Dial(t.Context(), server)
	must(t, err)
	defer c.Close()
	result, err := c.CallTool(t.Context(), "everything__echo", map[string]any{"message": "hello"})
	must(t, err)
	took := time.Since(began)
	if result.Text() != "hello" {
		t.Errorf("echo returned %q", result.Text())
	}
	t.Logf("from host connect to the first answered call of Cursor: %v", took.Round(time.Millisecond))
	if took > firstConnectTime {
		t.Errorf("Cursor's first call took %v; at most %v is allowed", took, firstConnectTime)
	}
}
