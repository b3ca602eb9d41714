//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what a terminal has and nobody has read.
func discardTyped(f *os.File) error {
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH)
}
