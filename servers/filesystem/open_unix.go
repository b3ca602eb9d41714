//go:build unix

package filesystem

import (
	"io/fs"
	"syscall"
)

// nonBlocking makes opening a pipe return without waiting for the other end.
const nonBlocking = syscall.O_NONBLOCK

// links returns the number of hard links to the file, or 0 if it is unknown.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 0
}
