//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// isPrivate reports whether a file or folder is this user's, and nobody else's in any way.
func isPrivate(info fs.FileInfo) bool {
	of, is := info.Sys().(*syscall.Stat_t)
	return is && int(of.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
