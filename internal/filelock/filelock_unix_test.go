//go:build unix && !aix && !solaris

package filelock

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A program between fork and exec has a copy of each descriptor.
func TestCloseFreesTheLockDespiteACopyOfTheDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	held, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(held)
	if _, err := Try(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a locked file: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Try(path)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}
