//go:build unix

package pollable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// blockingPipe returns a pipe as a process inherits it.
func blockingPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	return blockingFile(t, fds[0]), blockingFile(t, fds[1])
}

func blockingFile(t *testing.T, fd int) *os.File {
	t.Helper()
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "inherited")
	t.Cleanup(func() { f.Close() })
	return f
}

func nonBlocking(t *testing.T, f *os.File) (yes bool) {
	t.Helper()
	if err := control(f, func(fd int) {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
		if errno != 0 {
			t.Error(errno)
		}
		yes = flags&syscall.O_NONBLOCK != 0
	}); err != nil {
		t.Fatal(err)
	}
	return yes
}

func TestReadOfAPipeCanBeEnded(t *testing.T) {
	r, _ := blockingPipe(t)
	in := File(r)
	if in == r {
		t.Fatal("the pipe is returned as it was")
	}
	defer in.Close()
	if err := in.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
}

func TestCloseEndsARead(t *testing.T) {
	r, _ := blockingPipe(t)
	in := File(r)
	ended := make(chan error)
	began := make(chan struct{})
	go func() {
		close(began)
		_, err := in.Read(make([]byte, 1))
		ended <- err
	}()
	<-began
	in.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("read: %v", err)
	}
}

func TestBothEndsCarryData(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (r, w *os.File){
		"pipe": blockingPipe,
		"socket": func(t *testing.T) (r, w *os.File) {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			return blockingFile(t, fds[0]), blockingFile(t, fds[1])
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := open(t)
			in, out := File(r), File(w)
			if in == r || out == w {
				t.Fatal("returned as they were")
			}
			const size = 1 << 20 // more than a pipe holds, so that both wait
			written := make(chan error)
			go func() {
				_, err := out.Write(make([]byte, size))
				out.Close()
				w.Close()
				written <- err
			}()
			if b, err := io.ReadAll(in); err != nil || len(b) != size {
				t.Errorf("read %d bytes, %v", len(b), err)
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
			in.Close()
		})
	}
}

func TestRestoreGivesTheModeBack(t *testing.T) {
	r, w := blockingPipe(t)
	in := File(r)
	if !nonBlocking(t, r) {
		t.Error("the pipe is not in non-blocking mode")
	}
	in.Close()
	if err := Restore(r); err != nil {
		t.Fatal(err)
	}
	if nonBlocking(t, r) {
		t.Error("the pipe is in non-blocking mode still")
	}
	if nonBlocking(t, w) {
		t.Error("the other end is in non-blocking mode")
	}
	w.Write([]byte("x"))
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("read of the file itself: %d, %v", n, err)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	regular, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	device := blockingFile(t, openBlocking(t, os.DevNull))
	r, w, err := os.Pipe() // waited for by the poller already
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	closed, _ := blockingPipe(t)
	closed.Close()
	for name, f := range map[string]*os.File{"a regular file": regular, "a device": device, "a polled pipe": r, "a closed pipe": closed, "nil": nil} {
		if got := File(f); got != f {
			t.Errorf("%s is replaced", name)
		}
		if err := Restore(f); err != nil {
			t.Errorf("%s: restore: %v", name, err)
		}
	}
	if !nonBlocking(t, r) {
		t.Error("a polled pipe was put into blocking mode")
	}
	if nonBlocking(t, device) {
		t.Error("a device was put into non-blocking mode")
	}
}

func openBlocking(t *testing.T, path string) int {
	t.Helper()
	fd, err := syscall.Open(path, syscall.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestConvertedFileIsNotInherited(t *testing.T) {
	r, _ := blockingPipe(t)
	in := File(r)
	defer in.Close()
	if err := control(in, func(fd int) {
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if flags&syscall.FD_CLOEXEC == 0 {
			t.Error("the descriptor stays open in children")
		}
	}); err != nil {
		t.Fatal(err)
	}
}
