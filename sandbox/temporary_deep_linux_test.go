package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A program makes as many levels as it likes, one in the other, and takes rights away from some.
func TestAFolderOfAnyDepthIsRemoved(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.MkdirAll(filepath.Join(root, "wide", "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wide/closed/a", "wide/b", "moved-1"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "wide", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "wide", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := unix.Mkdirat(at, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		unix.Close(at)
		if at = next; err != nil {
			t.Fatal(err)
		}
	}
	unix.Close(at)
	few := unix.Rlimit{Cur: min(limit.Max, 512), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	removeTree(root)
	if _, err := os.Lstat(root); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link in it led to: %v", err)
	}
}
