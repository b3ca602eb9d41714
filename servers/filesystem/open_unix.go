//go:build unix

package filesystem

import (
	"io/fs"
	"syscall"
)

// nonBlocking prevents that opening a pipe waits for its other end.
const nonBlocking = syscall.O_NONBLOCK

// links returns the number of names of the file, or 0 if unknown.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 0
}
