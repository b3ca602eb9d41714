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

// temporaryName is the prefix of the temporary folders of programs without namespaces, which no
// mount removes.
const temporaryName = "junction-sandbox-"

// temporaryFolder makes a folder, and removes those of killed processes. A lock, which the kernel
// releases when a process ends, marks those in use. A process id would not, if several containers
// share a folder.
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
		} // another process took it for an abandoned one
	}
	return "", nil, errors.New("temporary folder: each is removed at once")
}

// removeTree removes a folder in which a program wrote. os.RemoveAll opens a file for each level,
// and a program can make more levels than there may be open files. Here the contents of a non-empty
// folder are first moved to the topmost one. Anything that cannot be removed stays.
func removeTree(path string) {
	root, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	_ = unix.Fchmod(root, 0o700)
	moved, fresh := 0, rand.Text() // a prefix that the program could not use
	// unlink removes a file or an empty folder.
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
			giveRights(folder, inner) // a move to another parent writes to the folder
			moved++
			return unix.Renameat(folder, inner, root, fmt.Sprint(fresh, moved)) == nil
		})
		return unlink(root, name)
	})
	_ = unix.Rmdir(path)
}

// giveRights gives this user all rights in a folder. It does not follow a link, whose target the
// program chose.
func giveRights(parent int, name string) {
	if !errors.Is(unix.Fchmodat(parent, name, 0o700, unix.AT_SYMLINK_NOFOLLOW), unix.EOPNOTSUPP) {
		return
	}
	var is unix.Stat_t // kernels before Linux 6.6
	if unix.Fstatat(parent, name, &is, unix.AT_SYMLINK_NOFOLLOW) == nil && is.Mode&unix.S_IFMT == unix.S_IFDIR {
		_ = unix.Fchmodat(parent, name, 0o700, 0)
	}
}

// each calls take with the names in a folder, until there are none or none of them is removed.
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

// maxNamesRead is the number of names of a folder in memory at once.
const maxNamesRead = 1_000

// lockFolder locks a folder of this user, if it is not locked and still at its path.
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
