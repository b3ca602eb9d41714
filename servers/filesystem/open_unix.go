//go:build unix

package filesystem

import (
	"io/fs"
	"syscall"
)

// nonBlocking keeps opening a pipe from waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK

// links is how many names the file has, 0 if that is not known.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 0
}
