package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what a terminal has and nobody has read.
func discardTyped(f *os.File) error {
	return unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
