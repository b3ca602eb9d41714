package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/sandbox"
)

// A confinedServer is one whose calls over stdio are counted.
type confinedServer struct {
	name    string
	profile *sandbox.Profile // nil: it is not confined
	fits    bool             // what it reads is not watched

	process *measured
	in      io.Writer
	out     *bufio.Reader
	id      int

	start               time.Duration // least time from the start to the first response
	latency, used, ours time.Duration // least times of a call: by the clock, of the server's processor, and of this process's
}

// begin starts the server, and waits for its first response. The returned function ends it.
func (s *confinedServer) begin(b *testing.B, home, call string) (end func()) {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "everything")
	if strings.Contains(call, "read-file") {
		cmd.Args = []string{program, "serve", "filesystem", "--root", home}
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "JUNCTION_KEYRING=off", asProgram + "=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	ended := func() {}
	if s.profile == nil {
		err = cmd.Start()
	} else {
		var box *sandbox.Sandbox
		if box, err = sandbox.New(*s.profile, sandbox.Options{Unwatched: s.fits, Refused: func(r sandbox.Refusal) { b.Error(r) }}); err == nil {
			ended, err = box.Start(cmd)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	s.call(b, call, 1)
	if took := time.Since(began); s.start == 0 || took < s.start {
		s.start = took
	}
	s.process = &measured{pid: cmd.Process.Pid}
	if s.profile != nil { // the launcher's child
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		if s.process.pid, _ = strconv.Atoi(strings.TrimSpace(string(children))); err != nil || s.process.pid == 0 {
			b.Fatalf("children of the launcher: %q, %v", children, err)
		}
	}
	pin(b, s.process.pid, 0)
	return func() {
		in.Close()
		cmd.Wait()
		ended()
	}
}

// pin keeps a process on one processor, so that no work moves from one to another.
func pin(b *testing.B, pid, processor int) {
	if out, err := exec.Command("taskset", "-acp", strconv.Itoa(processor), strconv.Itoa(pid)).CombinedOutput(); err != nil {
		b.Skip("skip: no processor of its own, or no taskset: ", string(out))
	}
}

// call calls the tool n times, one call after the other.
func (s *confinedServer) call(b *testing.B, call string, n int) {
	for range n {
		s.id++
		if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", s.id, call); err != nil {
			b.Fatal(err)
		}
		line, err := s.out.ReadString('\n')
		if err != nil || !strings.Contains(line, "sixty-four") {
			b.Fatal(err, line)
		}
	}
}

// ownTime is the processor's time of this process so far, with the thread that watches.
func ownTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkConfinedCall is what it costs a call over stdio that its server is confined: by the profile that junction server add begins with, by one as
// is learned, and by the same once it fits. All run on one processor; measured are the clock, and what the server and this process, which calls and watches, use of
// it, the least of all rounds. The goal is less than 5 percent. Of the second tool the watcher is asked three times in a call, as it opens a folder, again, and a file.
func BenchmarkConfinedCall(b *testing.B) {
	pin(b, os.Getpid(), 0)
	home := b.TempDir()
	const text = "the text to echo, sixty-four bytes long, as those of people are"
	for _, dir := range []string{"data", "notes"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "notes/a.md"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, call := range map[string]string{
		"echo":      `"name":"echo","arguments":{"message":"` + text + `"}`,
		"read-file": `"name":"read-file","arguments":{"path":"notes/a.md"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.Setenv("HOME", home)
			const calls, warm = 200, 1000
			strict := sandbox.Profile{Write: []string{filepath.Join(home, "data")}}
			if name == "read-file" {
				strict.Read = []string{filepath.Join(home, "notes")}
			}
			learned := sandbox.Profile{Read: []string{filepath.Join(home, "notes")}, Write: []string{filepath.Join(home, "data")}, Hosts: []string{"api.example.com", "*.example.org:8443"}, Processes: 256, Memory: 1 << 30, Files: 1024}
			all := []*confinedServer{{name: "free"}, {name: "strict", profile: &strict}, {name: "learned", profile: &learned}, {name: "fits", profile: &learned, fits: true}}
			for range 5 {
				for _, s := range all {
					s.begin(b, home, call)()
				}
			}
			for _, s := range all {
				defer s.begin(b, home, call)()
				s.call(b, call, warm)
				s.latency, s.used, s.ours = math.MaxInt64, math.MaxInt64, math.MaxInt64
			}
			for b.Loop() {
				for _, s := range all {
					began, used, ours := time.Now(), s.process.used(b), ownTime(b)
					s.call(b, call, calls)
					s.ours = min(s.ours, (ownTime(b)-ours)/calls)
					s.used = min(s.used, (s.process.used(b)-used)/calls)
					s.latency = min(s.latency, time.Since(began)/calls)
				}
			}
			b.ReportMetric(0, "ns/op") // of no meaning
			free := all[0]
			for _, s := range all {
				b.ReportMetric(float64(s.start.Microseconds())/1000, s.name+"-start-ms")
				b.ReportMetric(float64(s.latency.Nanoseconds())/1000, s.name+"-µs")
				b.ReportMetric(float64(s.used.Nanoseconds())/1000, s.name+"-server-µs")
				b.ReportMetric(float64(s.ours.Nanoseconds())/1000, s.name+"-client-µs")
				if s != free {
					b.ReportMetric(100*(float64(s.latency)/float64(free.latency)-1), s.name+"-more-%")
					b.ReportMetric(100*(float64(s.used+s.ours)/float64(free.used+free.ours)-1), s.name+"-more-processor-%")
				}
			}
		})
	}
}
