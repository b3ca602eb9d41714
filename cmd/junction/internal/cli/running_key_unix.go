//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// isPrivate reports whether a file or folder belongs to this user and is inaccessible to others.
func isPrivate(info fs.FileInfo) bool {
	of, is := info.Sys().(*syscall.Stat_t)
	return is && int(of.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
