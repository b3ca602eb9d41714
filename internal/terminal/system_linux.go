package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// inBackground reports whether the shell runs this process in the background of its terminal. It
// reports false if f is not the controlling terminal of this process.
func inBackground(f *os.File) bool {
	group, err := unix.IoctlGetUint32(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && int(group) != unix.Getpgrp()
}

// discardTyped drops the unread input of a terminal.
func discardTyped(f *os.File) error {
	return unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
