//go:build linux || darwin

package sandbox

import (
	"errors"
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
			os.RemoveAll(old)
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
				os.RemoveAll(dir)
				lock.Close()
			}, nil
		} // another one took it for left
	}
	return "", nil, errors.New("temporary folder: each is removed at once")
}

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
