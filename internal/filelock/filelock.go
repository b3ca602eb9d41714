// Package filelock locks files between processes, and replaces them as a whole. The system frees a lock when its process ends,
// however that ends.
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

// ErrLocked says that somebody else has the lock.
var ErrLocked = errors.New("locked")

// Wait takes the lock of a file, which is made where it is missing, and stays. It waits until ctx is
// done; the error then is ErrLocked with ctx's cause.
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

// Replace writes a file as a whole, by way of a new one next to it: no reader sees half of it, and it
// is on the disk when Replace returns.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // once renamed, it is not there
	_, err = temporary.Write(data)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder waits until the names of the files in a folder are on the disk: without that a file that was made, renamed
// or removed may have its old name after the end of the machine. Windows does that by itself.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) { // a file system that has no such thing
		err = nil
	}
	return errors.Join(err, f.Close())
}
