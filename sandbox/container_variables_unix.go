//go:build linux || darwin

package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// handOverPause is the time between two checks for a reader.
const handOverPause = 5 * time.Millisecond

// handOver writes a text to the first reader of a named pipe, once, so that it is never on a disk.
// The pipe is in a folder with a lock, so that the pipe of a killed process is removed.
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
			fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0) // fails without a reader
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
