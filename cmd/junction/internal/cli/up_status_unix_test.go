//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/terminal"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
)

// listenFull listens at a path with a queue that is full.
func listenFull(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Skip("the queue of a socket has no limit here")
}

// A socket is removed only where nobody listens at it any more.
func TestTheSocketOfABusyProcessIsKept(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a short path: those of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	busy, ended := filepath.Join(dir, "1"+cli.ControlSuffix), filepath.Join(dir, "2"+cli.ControlSuffix)
	listenFull(t, busy)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ended, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for path, keep := range map[string]bool{busy: true, ended: false} {
		if _, err := cli.FetchInstance(t.Context(), path); err == nil {
			t.Error("asked")
		}
		if _, err := os.Stat(clitest.In(t, path)); (err == nil) != keep {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// A failing listener cannot accept at first.
type failing struct {
	net.Listener
	errs  []error
	conns chan net.Conn
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	conn, more := <-f.conns
	if !more {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func TestStatusIsAnsweredAfterTooManyOpenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		accepted := make(chan net.Conn, 1)
		accepted <- there
		close(accepted)
		go cli.AcceptEach(&failing{errs: []error{syscall.EMFILE}, conns: accepted}, func(conn net.Conn) { _, _ = conn.Write([]byte("fine")) })
		got := make([]byte, 4)
		if _, err := io.ReadFull(here, got); err != nil || string(got) != "fine" {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

// A process that Ctrl-Z stopped accepts connections, as its kernel does, and sends nothing.
func TestStatusShowsProcessesThatDoNotRespond(t *testing.T) {
	clitest.Alone(t)
	p := clitest.PlaceOf(t)
	l, path, err := cli.ListenSocket(p, cli.ControlSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out strings.Builder
	a := reach.Ready(&cli.App{Place: p, IO: cli.IO{Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard, Out: terminal.NewScreen(&out), Screen: terminal.NewScreen(io.Discard)}})
	cmd := a.StatusCommand()
	cmd.SetArgs(nil)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("The junction up of process %d does not respond. If Ctrl-Z stopped it, fg in its terminal resumes it.\n", os.Getpid())
	if out.String() != want {
		t.Errorf("status prints %q, want %q", out.String(), want)
	}
	if all, err := cli.Instances(t.Context(), p); len(all) != 0 || err != nil {
		t.Errorf("Instances returns %v, %v", all, err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket is removed: %v", err)
	}
}
