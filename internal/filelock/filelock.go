// Package filelock locks files between processes and replaces files atomically. The operating
// system releases a lock when its process ends, even after a crash.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// lockPause is the pause between two attempts to take a lock.
const lockPause = 20 * time.Millisecond

// ErrLocked is returned if another process holds the lock.
var ErrLocked = errors.New("locked")

// A File is an open file with a lock.
type File struct{ *os.File }

// Wait takes the lock of a file. It creates the file if it is missing; unlock does not remove it.
// Wait waits until ctx is done; the error then wraps ErrLocked and the cause of ctx.
func Wait(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := Try(path)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, ErrLocked) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrLocked, context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// Replace replaces a file atomically: it writes a new file in the same folder and renames it. When
// Replace returns, the data is stored on the disk.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails after the rename
	_, err = temporary.Write(data)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder waits until the names of the files in a folder are stored on the disk. Without it, a
// file that was created, renamed or removed may have its old name again after a crash of the
// machine. On Windows it does nothing, as the system does this itself.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) { // the file system does not support it
		err = nil
	}
	return errors.Join(err, f.Close())
}
