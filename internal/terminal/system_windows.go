package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// inBackground is false: a console has no background.
func inBackground(*os.File) bool { return false }

// discardTyped drops what a terminal has and nobody has read.
func discardTyped(f *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
