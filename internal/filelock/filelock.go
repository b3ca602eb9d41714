// Package filelock locks files between processes. The system frees a lock when its process ends,
// however that ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
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
