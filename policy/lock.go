package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lockPause is the time between two attempts to take a lock.
const lockPause = 20 * time.Millisecond

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// lock takes a lock between processes, whose file stays. The system frees it when its
// process ends, however that ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := tryLock(path)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", errLocked, context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}
