//go:build unix && !aix && !solaris

package policy

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file, or fails with errLocked. Closing the file frees it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			err = errLocked
		}
		return nil, err
	}
	return f, nil
}
