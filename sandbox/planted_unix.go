//go:build linux || darwin

package sandbox

import (
	"os"
	"syscall"
)

// isPlanted reports whether a link is one that another user made in a folder in which all write, such as /tmp. The kernel follows none
// where fs.protected_symlinks says so, but it does not know that who reads where a link leads goes there.
func isPlanted(link os.FileInfo, folder string) bool {
	dir, err := os.Stat(folder)
	if err != nil || dir.Mode()&os.ModeSticky == 0 || dir.Mode().Perm()&0o002 == 0 {
		return false
	}
	of, ofDir := link.Sys().(*syscall.Stat_t), dir.Sys().(*syscall.Stat_t)
	return int(of.Uid) != os.Getuid() && of.Uid != ofDir.Uid
}
