package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped drops what a terminal has and nobody has read.
func discardTyped(f *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
