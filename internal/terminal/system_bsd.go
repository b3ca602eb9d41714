//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// inBackground reports whether the shell runs this process in the background of its terminal. It
// reports false if f is not the controlling terminal of this process.
func inBackground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// discardTyped drops the unread input of a terminal.
func discardTyped(f *os.File) error {
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH)
}
