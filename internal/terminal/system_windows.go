package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// inBackground reports false, because a Windows console has no background processes.
func inBackground(*os.File) bool { return false }

// discardTyped drops the unread input of a terminal.
func discardTyped(f *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
