//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
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
		if _, err := os.Stat(in(t, path)); (err == nil) != keep {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// A process that is killed removes no socket, and nobody may ever ask at it again.
func TestKilledProcessesLeaveNoSockets(t *testing.T) {
	const gone = "214748364" // no system has so many processes
	reused := fmt.Sprint(os.Getppid(), cli.ControlSuffix)
	alone(t)
	dir, err := cli.StatusFolder(placeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{gone + "1.sock", gone + "2.control", gone + "3" + cli.ControlSuffix, gone + "4" + reach.TrafficSuffix, gone + "5" + reach.WatcherSuffix, gone + "6" + cli.ControlSuffix, reused} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if name == gone+"6"+cli.ControlSuffix { // which lives
			defer l.Close()
			continue
		}
		l.Close()
	}
	awaitStarts()
	notMade := filepath.Join(dir, gone+"7"+cli.ControlSuffix+".new")
	if err := os.WriteFile(notMade, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	screen := terminal.NewScreen(io.Discard)
	end := reach.ShareTraffic(t.Context(), cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Out: screen, Screen: screen}}), "")
	files, err := os.ReadDir(dir)
	end()
	var left []string
	for _, f := range files {
		left = append(left, f.Name())
	}
	want := []string{fmt.Sprint(os.Getpid(), reach.TrafficSuffix), gone + "6" + cli.ControlSuffix, filepath.Base(notMade), reused}
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%v: left are %q, want %q", err, left, want)
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

// It has some places for those who watch, and one who begins is none of them.
func TestAProcessThatBeginsDoesNotAskThoseThatRun(t *testing.T) {
	alone(t)
	dir, err := cli.StatusFolder(placeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprint(os.Getppid(), reach.TrafficSuffix))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cli.RemoveStaleSockets(t.Context(), dir)
	asks, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	if _, err := asks.Write([]byte{reach.WantsMessages}); err != nil {
		t.Fatal(err)
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if n, err := first.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the first one who came wanted nothing: %v", err)
	}
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

func TestStatusIsShownAgainWhenItChanged(t *testing.T) {
	alone(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	stdout, code := new(safeBuffer), make(chan int, 1)
	lines := make(chan struct{}, 100)
	printed := &watchedBuffer{word: "\n", seen: func() { lines <- struct{}{} }}
	go func() {
		code <- run(ctx, placeOf(t), []string{"status", "--watch", "--json"}, strings.NewReader(""), io.MultiWriter(stdout, printed), io.Discard)
	}()
	<-lines
	r := serving(t, "up", "everything")
	for !strings.Contains(stdout.String(), `"endpoint":"`+r.url) {
		<-lines
	}
	r.stop()
	for !strings.HasSuffix(stdout.String(), `{"instances":[]}`+"\n") || strings.Count(stdout.String(), "\n") < 3 {
		<-lines
	}
	interrupt(cli.ErrInterrupted)
	if got := <-code; got != cli.ExitOK {
		t.Errorf("exit code %d", got)
	}
	if text := stdout.String(); strings.Count(text, `{"instances":[]}`) != 2 {
		t.Errorf("what did not change is shown again: %s", text)
	}
}
