//go:build unix

package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childEnv makes the test binary play the child with that name.
const childEnv = "JUNCTION_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		child, ok := children[name]
		if !ok {
			os.Exit(99)
		}
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children maps names to the functions of children. Each prints "ready" on its standard output when
// its signal handlers are set; those with a grandchild, when the grandchild's are.
var children = map[string]func(){
	"echo": func() {
		ready()
		io.Copy(os.Stdout, os.Stdin)
	},
	"obeys TERM only": func() {
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		ready()
		<-terminated
		fmt.Println("terminated")
	},
	"obeys nothing": obeyNothing,
	"exits with status 3": func() {
		ready()
		os.Exit(3)
	},
	"kills itself": func() {
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	},
	"says much and exits": func() {
		ready()
		os.Stdout.WriteString(strings.Repeat("x", 60000))
		fmt.Fprintln(os.Stderr, "last words")
	},
	"floods stderr": func() {
		line := []byte(strings.Repeat("flood ", 20) + "\n")
		for range 50000 {
			os.Stderr.Write(line)
		}
		os.Stderr.WriteString("the end\n")
		ready()
		io.Copy(io.Discard, os.Stdin)
	},
	"writes a huge line": func() {
		os.Stderr.WriteString(strings.Repeat("x", 1<<20) + "\nafter\n")
		ready()
		io.Copy(io.Discard, os.Stdin)
	},
	"prints its environment": func() {
		dir, _ := os.Getwd()
		fmt.Printf("%s\n%s\n%s\n", dir, os.Getenv("GREETING"), strings.Join(os.Args[1:], "|"))
	},
	"leaves an obedient grandchild": func() { leave("echo", nil) },
	"leaves a stubborn grandchild":  func() { leave("obeys nothing", nil) },
	"leaves a daemon":               func() { leave("obeys nothing", &syscall.SysProcAttr{Setsid: true}) },
	"waits for a stubborn grandchild": func() {
		leave("obeys nothing", nil)
		io.Copy(io.Discard, os.Stdin)
	},
}

func ready() { fmt.Println("ready") }

func obeyNothing() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("ready", os.Getpid())
	<-time.After(time.Minute) // at most, if the test fails
}

// leave starts a grandchild that shares all three pipes and prints that it is ready.
func leave(name string, attr *syscall.SysProcAttr) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		os.Exit(98)
	}
}

// start starts a child and waits until it is ready. The test fails if it leaves a process, a
// goroutine or a file behind.
func start(t *testing.T, c Command, child string) *Process {
	t.Helper()
	p := begin(t, c, child)
	if line := readLine(t, p); !strings.HasPrefix(line, "ready") {
		t.Fatalf("child says %q, want ready; stderr: %s", line, p.Stderr())
	}
	return p
}

func begin(t *testing.T, c Command, child string) *Process {
	t.Helper()
	files := openFiles(t)
	c.Path = os.Args[0]
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = append(c.Env, childEnv+"="+child, "GORACE=atexit_sleep_ms=0")
	if c.Grace == 0 {
		c.Grace = 300 * time.Millisecond
	}
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		checkNothingLeft(t, p, files)
	})
	return p
}

func checkNothingLeft(t *testing.T, p *Process, files int) {
	t.Helper()
	if left := members(t, p.PID()); len(left) > 0 {
		t.Errorf("processes left in the group: %v", left)
	}
	if _, err := syscall.Wait4(p.PID(), nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("child was not reaped: %v", err)
	}
	if now := openFiles(t); now != files {
		t.Errorf("%d files open, %d before", now, files)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "process.(*Process).") && !strings.Contains(string(stacks), "process.(*stderrLog).") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutine left:\n%s", stacks)
		}
	}
}

// members returns the processes of a group with their states, except orphans that died and were not
// reaped by the system's first process. The child itself is not an orphan: Exited means that it was
// reaped.
func members(t *testing.T, group int) (found []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // state ppid pgrp ...
		fields := strings.Fields(rest)
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			found = append(found, entry.Name()+" "+fields[0])
		}
	}
	return found
}

// openFiles returns the number of this process's descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	openPoller(t)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// openPoller makes the runtime open its own descriptors, which it keeps.
func openPoller(t *testing.T) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
}

// readLine reads byte by byte, to take no more than the line.
func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := r.Read(b); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
		if b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}
