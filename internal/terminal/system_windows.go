package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// inBackground reports false: a console has no background.
func inBackground(*os.File) bool { return false }

// discardTyped drops the unread input of a terminal.
func discardTyped(f *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
