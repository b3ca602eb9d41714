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

// temporaryName is what the temporary folders of programs without namespaces are called, which no mount takes along.
const temporaryName = "junction-sandbox-"

// temporaryFolder makes a folder, and removes those that were left by processes that were killed. A lock, which the kernel lets go when a
// process ends, says whose are in use; a process id would not, where several containers share a folder.
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
		} // another one took it for left
	}
	return "", nil, errors.New("temporary folder: each is removed at once")
}

// removeTree removes a folder in which a program wrote. os.RemoveAll has a file open for each level, and of those a program can make more than
// there may be files: here a folder that is not empty gives what is in it to the topmost one first. What cannot be removed stays.
func removeTree(path string) {
	root, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	_ = unix.Fchmod(root, 0o700)
	moved, fresh := 0, rand.Text() // which the program could not take
	// unlink removes what has no names in it.
	unlink := func(folder int, name string) bool {
		return unix.Unlinkat(folder, name, 0) == nil || unix.Unlinkat(folder, name, unix.AT_REMOVEDIR) == nil
	}
	each(root, func(name string) bool {
		if unlink(root, name) {
			return true
		}
		giveRights(root, name)
		folder, err := unix.Openat(root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(folder)
		each(folder, func(inner string) bool {
			if unlink(folder, inner) {
				return true
			}
			giveRights(folder, inner) // what has another parent then is written to
			moved++
			return unix.Renameat(folder, inner, root, fmt.Sprint(fresh, moved)) == nil
		})
		return unlink(root, name)
	})
	_ = unix.Rmdir(path)
}

// giveRights lets this user do everything in a folder. A link is not followed: a program chooses where it leads.
func giveRights(parent int, name string) {
	if !errors.Is(unix.Fchmodat(parent, name, 0o700, unix.AT_SYMLINK_NOFOLLOW), unix.EOPNOTSUPP) {
		return
	}
	var is unix.Stat_t // kernels before Linux 6.6
	if unix.Fstatat(parent, name, &is, unix.AT_SYMLINK_NOFOLLOW) == nil && is.Mode&unix.S_IFMT == unix.S_IFDIR {
		_ = unix.Fchmodat(parent, name, 0o700, 0)
	}
}

// each calls take with the names in a folder, until there are none or none of them is taken away.
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

// maxNamesRead is how many names of a folder are held at once.
const maxNamesRead = 1_000

// lockFolder locks a folder of this user, if nobody else has, and if it still stands at its path.
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
