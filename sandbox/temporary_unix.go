//go:build linux || darwin

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// temporaryName is the prefix of temporary folders for programs without namespaces. No mount
// removes these folders.
const temporaryName = "junction-sandbox-"

// temporaryFolder makes a temporary folder, and removes those of killed processes. Folders in use
// are locked, and the kernel releases a lock when its process ends. A process id would not suffice
// if several containers share the parent folder.
func temporaryFolder() (dir string, remove func(), err error) {
	parent := os.TempDir()
	left, _ := filepath.Glob(filepath.Join(parent, temporaryName+"*"))
	for _, old := range left {
		if lock, err := lockFolder(old); err == nil {
			removeTree(old)
			lock.Close()
		}
	}
	for range 10 {
		if dir, err = os.MkdirTemp(parent, temporaryName); err != nil {
			return "", nil, err
		}
		lock, err := lockFolder(dir)
		if err == nil {
			return dir, func() {
				removeTree(dir)
				lock.Close()
			}, nil
		} // another process just removed it as abandoned
	}
	return "", nil, errors.New("temporary folder: each is removed at once")
}

// removeTree removes a folder to which a program has written. It does not use os.RemoveAll, which
// opens a file for each level, because a program can make more levels than open files are allowed.
// Instead it moves the contents of nested folders into the topmost one. Files that cannot be
// removed remain.
func removeTree(path string) {
	root, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	_ = unix.Fchmod(root, 0o700)
	moved, fresh := 0, rand.Text() // fresh is a prefix that the program could not guess
	// unlink removes a file or an empty folder.
	unlink := func(folder int, name string) bool {
		return unix.Unlinkat(folder, name, 0) == nil || unix.Unlinkat(folder, name, unix.AT_REMOVEDIR) == nil
	}
	each(root, func(name string) bool {
		if unlink(root, name) {
			return true
		}
		grantRights(root, name)
		folder, err := unix.Openat(root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(folder)
		each(folder, func(inner string) bool {
			if unlink(folder, inner) {
				return true
			}
			grantRights(folder, inner) // moving a folder to another parent needs the right to write to the folder
			moved++
			return unix.Renameat(folder, inner, root, fmt.Sprint(fresh, moved)) == nil
		})
		return unlink(root, name)
	})
	_ = unix.Rmdir(path)
}

// grantRights gives this user all rights to a folder. It does not follow links, because the program
// chose their targets.
func grantRights(parent int, name string) {
	if !errors.Is(unix.Fchmodat(parent, name, 0o700, unix.AT_SYMLINK_NOFOLLOW), unix.EOPNOTSUPP) {
		return
	}
	var is unix.Stat_t // before Linux 6.6
	if unix.Fstatat(parent, name, &is, unix.AT_SYMLINK_NOFOLLOW) == nil && is.Mode&unix.S_IFMT == unix.S_IFDIR {
		_ = unix.Fchmodat(parent, name, 0o700, 0)
	}
}

// each calls take with the names in a folder, and repeats that until take removes none of them.
func each(folder int, take func(name string) bool) {
	for taken := true; taken; {
		taken = false
		again, err := unix.Openat(folder, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		f := os.NewFile(uintptr(again), ".")
		names, _ := f.Readdirnames(maxNamesRead)
		f.Close()
		for _, name := range names {
			taken = take(name) || taken
		}
	}
}

// maxNamesRead is the number of names that each reads at a time.
const maxNamesRead = 1_000

// lockFolder locks a folder of this user. It fails if another process holds the lock, or if the
// folder is no longer at its path.
func lockFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	var open, there unix.Stat_t
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = errors.Join(unix.Fstat(fd, &open), unix.Lstat(path, &there))
	}
	if err == nil && (open.Dev != there.Dev || open.Ino != there.Ino || int(open.Uid) != os.Getuid()) {
		err = unix.ESTALE
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
