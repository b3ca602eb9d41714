//go:build unix && !aix && !solaris

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes the lock of a file, which it creates if it is missing. If another process holds the
// lock, the error is ErrLocked. Closing the file releases the lock.
func Try(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			err = ErrLocked
		}
		return nil, err
	}
	return &File{f}, nil
}

// Close releases the lock and closes the file. Closing alone does not release the lock while a program that
// this process starts still has a copy of the descriptor, between fork and exec.
func (f *File) Close() error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return f.File.Close()
}
