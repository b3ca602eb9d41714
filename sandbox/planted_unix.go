//go:build linux || darwin

package sandbox

import (
	"os"
	"syscall"
)

// isPlanted reports whether another user made a link in a folder that all users can write to, such
// as /tmp. With fs.protected_symlinks the kernel does not follow such links. But that does not
// protect a program that reads a link and then uses its target.
func isPlanted(link os.FileInfo, folder string) bool {
	dir, err := os.Stat(folder)
	if err != nil || dir.Mode()&os.ModeSticky == 0 || dir.Mode().Perm()&0o002 == 0 {
		return false
	}
	of, ofDir := link.Sys().(*syscall.Stat_t), dir.Sys().(*syscall.Stat_t)
	return int(of.Uid) != os.Getuid() && of.Uid != ofDir.Uid
}
