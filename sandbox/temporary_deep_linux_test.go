package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A program makes as many nested folders as it likes, and removes rights from some.
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

// A program chooses the contents of its folder and their rights, which root ignores. Nothing
// outside may change, and nothing may remain.
func TestAFolderIsRemovedWithoutFollowingLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(root string) error{
		"a link in a folder that nobody may write": func(root string) error {
			return errors.Join(os.Symlink(outside, filepath.Join(root, "link")), os.Chmod(root, 0o500))
		},
		"a link further down": func(root string) error {
			inner := filepath.Join(root, "inner")
			return errors.Join(os.Mkdir(inner, 0o700), os.Symlink(outside, filepath.Join(inner, "link")), os.Chmod(inner, 0o500), os.Chmod(root, 0o500))
		},
		"names like those that are given": func(root string) error {
			return os.MkdirAll(filepath.Join(root, "moved-1", "x", "y"), 0o700)
		},
	} {
		root := filepath.Join(t.TempDir(), "root")
		if err := errors.Join(os.Mkdir(root, 0o700), fill(root)); err != nil {
			t.Fatal(err)
		}
		removeTree(root)
		if _, err := os.Lstat(root); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder stays: %v", name, err)
			_ = os.Chmod(root, 0o700)
		}
		if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o400 {
			t.Errorf("%s: what a link led to is %v, %v", name, info.Mode(), err)
			_ = os.Chmod(outside, 0o400)
		}
	}
}
