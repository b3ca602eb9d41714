// Package filelock locks files between processes, and replaces them atomically. The system frees a
// lock when its process ends in any way.
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

// lockPause is the time between two attempts to take a lock.
const lockPause = 20 * time.Millisecond

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("locked")

// A File is an open file with a lock.
type File struct{ *os.File }

// Wait takes the lock of a file, which it creates if it is missing and leaves in place. It waits
// until ctx is done; the error is then ErrLocked with ctx's cause.
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

// Replace replaces a file by means of a new one next to it: no reader sees a partial file. The data
// is on the disk when Replace returns.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone after the rename
	_, err = temporary.Write(data)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder waits until the names of the files in a folder are on the disk. Without it a file that
// was created, renamed or removed may have its old name after a crash of the machine. Windows does
// this itself.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) { // unsupported by the file system
		err = nil
	}
	return errors.Join(err, f.Close())
}
