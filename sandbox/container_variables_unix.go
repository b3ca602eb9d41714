//go:build linux || darwin

package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// handOverPause is the interval between checks for a reader.
const handOverPause = 5 * time.Millisecond

// handOver returns the path of a named pipe, and writes a text to its first reader, once. So the
// text is never on a disk. The pipe is in a locked folder, so that a pipe left by a killed process
// can be removed.
func handOver(text string) (path string, ended func(), err error) {
	dir, remove, err := temporaryFolder()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "variables")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer remove()
		for {
			fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0) // fails while there is no reader
			if err == nil {
				pipe := os.NewFile(uintptr(fd), path)
				written := make(chan struct{})
				go func() {
					defer close(written)
					_, _ = pipe.WriteString(text)
				}()
				select {
				case <-written:
				case <-stop:
				}
				_ = pipe.Close()
				<-written
				return
			}
			select {
			case <-time.After(handOverPause):
			case <-stop:
				return
			}
		}
	}()
	return path, sync.OnceFunc(func() { close(stop); <-done }), nil
}
