package pollable

import (
	"os"
	"syscall"
)

// canWait is false for a FIFO that has a name: kqueue does not tell a reader
// that the last writer has closed it (golang.org/issue/24164). Pipes without a
// name, which have no links, do not have that fault.
func canWait(info os.FileInfo) bool {
	if info.Mode()&os.ModeNamedPipe == 0 {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
