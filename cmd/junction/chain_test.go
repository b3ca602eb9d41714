package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// asWrapper is the argument that makes the test binary start the command line
// that follows, as npx does: with its own standard input and output, and without
// being junction.
const asWrapper = "wrap-another-program"

func wrap(argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

// chainTest is in the environment of the processes that one test started, with its home.
const chainTest = "JUNCTION_CHAIN_TEST"

// A separate junction is a process of its own, in a home of its own.
type separate struct {
	t      *testing.T
	home   string
	dir    string // to start in, below home
	mark   string
	cmd    *exec.Cmd
	stderr clitest.SafeBuffer
	most   int // how many ran at the same time
}

func newSeparate(t *testing.T) *separate {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("it counts processes in /proc")
	}
	home := t.TempDir()
	return &separate{t: t, home: home, mark: chainTest + "=" + home}
}

// write writes a file in the home as JSON.
func (s *separate) write(name string, content any) string {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	data, err := json.Marshal(content)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *separate) start(args ...string) {
	s.t.Helper()
	argv := self(s.t, args...)
	s.cmd = child(s.t, argv[0], argv[1:]...)
	s.cmd.Dir = filepath.Join(s.home, s.dir)
	s.cmd.Env = []string{"PATH=" + clitest.PlaceOf(s.t).Getenv("PATH"), "HOME=" + s.home, asProgram + "=1", s.mark}
	s.cmd.Stderr = &s.stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// running counts the junctions of this test that run, without wrappers and without a process that one of them forked and has yet to
// become another program.
func (s *separate) running() int {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, path := range environs {
		environ, _ := os.ReadFile(path) // a process that ended has none
		if !bytes.Contains(append(environ, 0), []byte(s.mark+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if len(line) > 0 && !bytes.Contains(line, []byte(asWrapper)) && !isForkOnly(filepath.Dir(path)) {
			n++
		}
	}
	return n
}

// isForkOnly reports whether a process of /proc shares the program of the one that forked it, as it did not start its own.
func isForkOnly(dir string) bool {
	const forkNoExec = 0x40 // PF_FORKNOEXEC of linux/sched.h
	stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // from the state on
	if len(fields) < 7 {
		return false
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&forkNoExec != 0
}

// has reports whether standard error holds a text, whose lines may be wrapped.
func (s *separate) has(text string) bool {
	joined := func(text string) string { return strings.Join(strings.Fields(text), "") }
	return strings.Contains(joined(s.stderr.String()), joined(text))
}

// watch counts until standard error holds a text, and a moment longer.
func (s *separate) watch(text string) {
	s.t.Helper()
	deadline := time.Now().Add(guardTime)
	until := deadline
	for time.Now().Before(until) {
		s.most = max(s.most, s.running())
		if until == deadline && s.has(text) {
			until = time.Now().Add(700 * time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !s.has(text) {
		s.t.Errorf("%q is not in\n%s", text, s.stderr.String())
	}
	if s.most > 2 {
		s.t.Errorf("%d processes ran at the same time", s.most)
	}
}

// end interrupts it; nothing that it started may be left.
func (s *separate) end() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait() // it may have ended with an error of its own
	for deadline := time.Now().Add(guardTime); s.running() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Errorf("%d processes are left", s.running())
			return
		}
	}
}

func TestAGatewayNeverStartsItself(t *testing.T) {
	for _, file := range []struct{ path, member string }{
		{".config/junction/mcp.json", "mcpServers"},
		{".claude.json", "mcpServers"},
		{".config/Claude/claude_desktop_config.json", "mcpServers"},
		{".cursor/mcp.json", "mcpServers"},
		{".config/Code/User/mcp.json", "servers"},
		{".codeium/windsurf/mcp_config.json", "mcpServers"},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", file.path, wrapped), func(t *testing.T) {
				t.Parallel()
				s := newSeparate(t)
				argv := self(t, "up", "--stdio")
				want := fmt.Sprintf("entry \"junction\" in ~/%s is omitted: it is this gateway itself", file.path)
				if wrapped {
					argv = append(self(t, asWrapper), argv...)
					want = fmt.Sprintf("this gateway would start itself: entry \"junction\" in %s", filepath.Join(s.home, file.path))
				}
				every := self(t, "serve", "everything")
				s.write(file.path, map[string]any{file.member: map[string]any{
					"junction": map[string]any{"command": argv[0], "args": argv[1:]},
					"off":      map[string]any{"command": every[0], "args": every[1:], "disabled": true},
				}})
				s.start("up", "--http", "127.0.0.1:0")
				s.watch(want)
				s.end()
			})
		}
	}
}

func TestTwoGatewaysDoNotStartEachOther(t *testing.T) {
	t.Parallel()
	s := newSeparate(t)
	one, two := filepath.Join(s.home, "one.json"), filepath.Join(s.home, "two.json")
	entry := func(path string) map[string]any {
		argv := self(t, "up", "--stdio", "--config", path)
		return map[string]any{"mcpServers": map[string]any{"other": map[string]any{"command": argv[0], "args": argv[1:]}}}
	}
	s.write("one.json", entry(two))
	s.write("two.json", entry(one))
	s.start("up", "-v", "--http", "127.0.0.1:0", "--config", one)
	s.watch(`entry "other" in ~/two.json is omitted`)
	s.end()
}

func TestGatewaysSkipTheirOwnEntryInAnotherFolder(t *testing.T) {
	t.Parallel()
	s := newSeparate(t)
	folder := t.TempDir()
	argv := append(self(t, asWrapper), self(t, "up", "--stdio")...)
	s.write(".claude.json", map[string]any{"mcpServers": map[string]any{"junction": map[string]any{"command": argv[0], "args": argv[1:], "cwd": folder}}})
	s.write(".mcp.json", map[string]any{"mcpServers": map[string]any{}}) // only the first reads it
	s.start("up", "-v", "--http", "127.0.0.1:0")
	s.watch(`entry "junction" in ~/.claude.json is omitted`)
	s.end()
}

// freeAddress returns an address that is free, for programs that must know theirs before they start. No
// system gives its port to connections, so those of other tests do not take it meanwhile.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(20_000)))
		if err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestAGatewayOmitsItsOwnAddress(t *testing.T) {
	clitest.Alone(t)
	at := freeAddress(t)
	_, port, _ := net.SplitHostPort(at)
	config := configuration(t, map[string]any{
		"here":      map[string]any{"url": "http://localhost:" + port + "/mcp"},
		"elsewhere": map[string]any{"url": "http://localhost:1/mcp"},
	})
	r := serving(t, "up", "--http", at, "--config", config)
	r.stop()
	if got := r.stderr.String(); !strings.Contains(got, `entry "here" in `) || strings.Contains(got, `entry "elsewhere"`) {
		t.Errorf("got %s", got)
	}
}

func TestAServerThatIsAProxyOfItselfIsRefused(t *testing.T) {
	t.Parallel()
	s := newSeparate(t)
	argv := self(t, "proxy", "every")
	s.write(".claude.json", map[string]any{"mcpServers": map[string]any{"every": map[string]any{"command": argv[0], "args": argv[1:]}}})
	s.start("ping", "every")
	s.watch(`server "every" would start itself`)
	s.end()
}

func TestAGatewayRefusesAProgramThatLeadsBackToIt(t *testing.T) {
	t.Parallel()
	s := newSeparate(t)
	at := freeAddress(t)
	argv := self(t, "proxy", "http://"+at+"/mcp")
	for _, revision := range []string{"2026-07-28", "2025-06-18"} {
		t.Run("by "+revision, func(t *testing.T) {
			config := s.write("servers.json", map[string]any{"mcpServers": map[string]any{
				"again": map[string]any{"command": argv[0], "args": append(argv[1:], "--revision", revision)}}})
			s.stderr = clitest.SafeBuffer{}
			s.start("up", "--http", at, "--config", config)
			s.watch("it is this gateway, or another gateway that has this one as a server")
			s.end()
		})
	}
}

func TestTheNameOfAMembersToolIsSuggestedWithItsPrefix(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "up")
	if got := runs(t, "", "call", r.url, "add", "a=1", "b=2"); got.code != cli.ExitProtocol || !strings.Contains(got.stderr, `did you mean "everything__add"?`) {
		t.Errorf("got %+v", got)
	}
}

func TestAGatewayOfAProjectNeverStartsItself(t *testing.T) {
	for path, member := range map[string]string{
		"junction.json": "mcpServers", ".mcp.json": "mcpServers", "mcp.json": "mcpServers", ".cursor/mcp.json": "mcpServers", ".vscode/mcp.json": "servers",
		".claude.json": "projects",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newSeparate(t)
			path := "work/" + path
			if member == "projects" {
				path = ".claude.json" // what Claude Code keeps for a project
			}
			full := filepath.Join(s.home, path)
			argv := self(t, "up", "--stdio", "--config", full) // as up prints it
			servers := map[string]any{"junction": map[string]any{"command": argv[0], "args": argv[1:]}}
			content := map[string]any{member: servers}
			if member == "projects" {
				content[member] = map[string]any{filepath.Join(s.home, "work"): map[string]any{"mcpServers": servers}}
			}
			s.write(path, content)
			s.write("work/other.json", map[string]any{})
			s.dir = "work"
			s.start("up", "--http", "127.0.0.1:0", "--config", full)
			s.watch(`entry "junction" in ~/` + path + ` is omitted`)
			s.end()
			s.stderr = clitest.SafeBuffer{}
			s.start("up", "--http", "127.0.0.1:0") // finds it
			s.watch(`entry "junction" in ~/` + path + ` is omitted`)
			s.end()
		})
	}
}

func TestListsOmitAGatewayOfTheSameServers(t *testing.T) {
	clitest.Alone(t)
	argv := self(t, "up", "--stdio")
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"junction": map[string]any{"command": argv[0], "args": argv[1:]}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, ".claude.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"list", "tools", "prompts"} {
		if got := runs(t, "", command); got.code != cli.ExitOK || got.stdout != "" || !strings.Contains(got.stderr, `entry "junction" in ~/.claude.json is omitted: it is a gateway for the same servers`) {
			t.Errorf("%s: got %+v", command, got)
		}
	}
	if got := runs(t, "", "tools", "everythin"); !strings.Contains(got.stderr, `did you mean "everything"?`) {
		t.Errorf("got %+v", got)
	}
}
