package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/process/processtest"
)

// A household is a home folder with a junction of its own in it, whose processes can be
// distinguished from all others by their program.
type household struct {
	home, work, binary string
	env                []string
}

func newHousehold(t *testing.T) *household {
	t.Helper()
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("skip: it counts processes in /proc")
	}
	h := &household{home: t.TempDir()}
	h.work, h.binary = filepath.Join(h.home, "work"), filepath.Join(h.home, "bin", "junction")
	for _, dir := range []string{h.work, filepath.Dir(h.binary)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(junction(t))
	if err != nil {
		t.Fatal(err)
	}
	processtest.WriteProgram(t, h.binary, program, 0o700)
	h.env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}
	return h
}

func (h *household) write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	processtest.WriteProgram(t, path, []byte(content), mode)
	return path
}

// running counts the processes of this junction, whoever started them.
func (h *household) running(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if path, _ := os.Readlink(link); path == h.binary { // one that ended has none
			n++
		}
	}
	return n
}

// serve runs junction up until use returns, and counts the processes all the while, and
// a second longer. It hands use what junction said, and its standard input and output.
func (h *household) serve(t *testing.T, args []string, use func(said *tail, in io.Writer, out *tail)) {
	t.Helper()
	command := exec.Command(h.binary, append([]string{"up"}, args...)...)
	command.Dir, command.Env = h.work, h.env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = 3 * time.Second
	said, out := &tail{}, &tail{}
	command.Stderr, command.Stdout = said, out
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	most, stop, counted := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(counted)
		for most <= 10 { // more is a chain without end
			most = max(most, h.running(t))
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	}()
	use(said, in, out)
	time.Sleep(time.Second)
	close(stop)
	<-counted
	in.Close()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM) // it may have ended
	_ = command.Wait()
	if most > 2 {
		t.Errorf("%d processes of junction ran at the same time; the first said\n%s", most, said)
	}
	for end := time.Now().Add(10 * time.Second); h.running(t) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d processes of junction are left", h.running(t))
			return
		}
	}
}

// until waits for a text, which may be broken into lines.
func until(t *testing.T, w *tail, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(strings.Join(strings.Fields(w.String()), " "), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("no %q in\n%s", text, w)
			return
		}
	}
}

var pasted = regexp.MustCompile(`(?m)^\s*(\{"mcpServers":.*\})\s*$`)

// printed returns what junction up prints for pasting: the entry with a command, and the
// one with a URL.
func (h *household) printed(t *testing.T, args ...string) (byCommand, byURL json.RawMessage) {
	t.Helper()
	h.serve(t, args, func(said *tail, _ io.Writer, _ *tail) {
		until(t, said, `"url":`)
		entries := pasted.FindAllStringSubmatch(said.String(), -1)
		if len(entries) != 2 {
			t.Fatalf("%d entries to paste in\n%s", len(entries), said)
		}
		for i, entry := range []*json.RawMessage{&byCommand, &byURL} {
			var file struct {
				Servers struct{ Junction json.RawMessage } `json:"mcpServers"`
			}
			if err := json.Unmarshal([]byte(entries[i][1]), &file); err != nil {
				t.Fatal(err)
			}
			*entry = file.Servers.Junction
		}
	})
	return byCommand, byURL
}

// behindWrapper is the entry with another program before its command.
func behindWrapper(t *testing.T, entry json.RawMessage, wrapper ...string) json.RawMessage {
	t.Helper()
	var e struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		t.Fatal(err)
	}
	e.Args = append(append(wrapper[1:], e.Command), e.Args...)
	e.Command = wrapper[0]
	return json.RawMessage(encode(t, e))
}

// npx starts another program as npx does: through a shell, as a child.
const npx = "#!/bin/sh\nshift\nsh -c '\"$0\" \"$@\"; exit $?' \"$@\"\n"

// hostFiles are the configuration files that Junction finds, with the member that has
// the servers. Those below work/ belong to a project.
var hostFiles = map[string]string{
	".config/junction/mcp.json":                 "mcpServers",
	".claude.json":                              "mcpServers",
	".config/Claude/claude_desktop_config.json": "mcpServers",
	".cursor/mcp.json":                          "mcpServers",
	".config/Code/User/mcp.json":                "servers",
	".codeium/windsurf/mcp_config.json":         "mcpServers",
	"work/junction.json":                        "mcpServers",
	"work/.mcp.json":                            "mcpServers",
	"work/.cursor/mcp.json":                     "mcpServers",
	"work/.vscode/mcp.json":                     "servers",
	"work/mcp.json":                             "mcpServers",
}

// What junction up prints for pasting, pasted into each file that it finds, never leads
// to more than two processes of it: neither where up serves at an address nor where a
// client starts it, neither plain nor through npx, neither by its command nor its URL.
func TestTheEntryToPasteStartsNoChain(t *testing.T) {
	t.Parallel()
	junction(t)
	for file, member := range hostFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t)
			address := freeAddress(t)
			var config []string // a project's file is read only where it is named
			if path := filepath.Join(h.home, file); strings.HasPrefix(file, "work/") {
				config = []string{"--config", h.write(t, file, fmt.Sprintf(`{%q:{}}`, member), 0o600)}
				if config[1] != path {
					t.Fatal(config)
				}
			}
			plain, url := h.printed(t, append(config, "--http", address)...)
			wrapped := behindWrapper(t, plain, h.write(t, "bin/npx", npx, 0o700), "-y")
			for _, test := range []struct {
				name    string
				servers map[string]any
				says    string
			}{
				{"plain", map[string]any{"junction": plain}, "it is this gateway itself"},
				{"npx", map[string]any{"junction": wrapped}, "this gateway would start itself"},
				{"url", map[string]any{"junction": url}, "it is this gateway itself"},
				{"all three", map[string]any{"one": plain, "two": wrapped, "three": url}, "this gateway would start itself"},
			} {
				t.Run(test.name, func(t *testing.T) {
					h.write(t, file, encode(t, map[string]any{member: test.servers}), 0o600)
					h.verify(t, config, address, test.says)
				})
			}
		})
	}
}

// In all files at once it is the same.
func TestTheEntryToPasteInEveryFileStartsNoChain(t *testing.T) {
	h := newHousehold(t)
	address := freeAddress(t)
	plain, url := h.printed(t, "--http", address)
	wrapped := behindWrapper(t, plain, h.write(t, "bin/npx", npx, 0o700), "-y")
	for file, member := range hostFiles {
		if !strings.HasPrefix(file, "work/") {
			h.write(t, file, encode(t, map[string]any{member: map[string]any{"junction": plain, "again": wrapped, "there": url}}), 0o600)
		}
	}
	h.verify(t, nil, address, "this gateway would start itself")
}

// verify starts junction up at the address, where it says something, and as a client
// does, and lists its tools.
func (h *household) verify(t *testing.T, config []string, address, says string) {
	t.Helper()
	h.serve(t, append(config, "--http", address), func(said *tail, _ io.Writer, _ *tail) {
		until(t, said, says)
	})
	h.serve(t, append(config, "--stdio"), func(_ *tail, in io.Writer, out *tail) {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		} {
			fmt.Fprintln(in, message)
		}
		until(t, out, `"id":2,`)
	})
}
