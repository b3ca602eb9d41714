package integration

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inGroup puts a command and its children in a process group of their own, which is
// killed when its context ends, and does not wait for a grandchild that holds a pipe.
func inGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 3 * time.Second
}

// tail keeps the last words that a process wrote.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.buf.Len() > 1<<16 {
		w.buf.Reset()
	}
	return w.buf.Write(p)
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// start runs a process until the test ends, and hands out the lines of its stdout.
// The process and its children are asked to end, then killed.
func start(t testing.TB, env []string, argv ...string) (lines <-chan string, log *tail) {
	t.Helper()
	command := exec.Command(argv[0], argv[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = env
	log = &tail{}
	command.Stderr = log
	command.WaitDelay = 3 * time.Second
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	read := make(chan string, 100)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer close(read)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			select {
			case read <- scanner.Text():
			default: // nobody reads any more
			}
		}
	}()
	t.Cleanup(func() {
		group := -command.Process.Pid
		_ = syscall.Kill(group, syscall.SIGTERM) // it may have ended
		timer := time.AfterFunc(5*time.Second, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		<-drained
		err := command.Wait()
		timer.Stop()
		_ = syscall.Kill(group, syscall.SIGKILL) // children that outlived it
		if t.Failed() {
			t.Logf("%v ended with %v; its last words: %.3000s", argv, err, log)
		}
	})
	return read, log
}

// listening starts a server that prints "listening URL", and returns the URL.
func listening(t testing.TB, argv ...string) string {
	t.Helper()
	lines, log := start(t, nil, argv...)
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("%v ended before it listened: %s", argv, log)
			}
			if url, found := strings.CutPrefix(line, "listening "); found {
				return url
			}
		case <-deadline:
			t.Fatalf("%v does not listen after 30 s: %s", argv, log)
		}
	}
}

// handedOut are the addresses that tests were given; none is given twice.
var handedOut sync.Map

// freeAddress returns a loopback address that nobody listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		_ = listener.Close()
		if _, twice := handedOut.LoadOrStore(address, true); !twice {
			return address
		}
	}
}

// serving starts a server that listens at the address, and waits until it answers HTTP
// with any status.
func serving(t testing.TB, env []string, address string, argv ...string) {
	t.Helper()
	servingWithin(t, 30*time.Second, env, address, argv...)
}

// servingWithin is serving for one that takes longer to start.
func servingWithin(t testing.TB, limit time.Duration, env []string, address string, argv ...string) {
	t.Helper()
	lines, log := start(t, env, argv...)
	client := http.Client{Timeout: 2 * time.Second}
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if ended(lines) {
			t.Fatalf("%v ended before it listened: %s", argv, log)
		}
		response, err := client.Get("http://" + address + "/")
		if err == nil {
			_ = response.Body.Close()
			return
		}
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			return // it accepted, and has nothing for us
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%v does not listen at %s after %v: %s", argv, address, limit, log)
}

// ended reports whether the process closed its stdout; it skips the lines there are.
func ended(lines <-chan string) bool {
	for {
		select {
		case _, ok := <-lines:
			if !ok {
				return true
			}
		default:
			return false
		}
	}
}
