//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes returns a channel that hears of each change of the terminal's size, until
// stop is called.
func resizes() (sizes chan os.Signal, stop func()) {
	sizes = make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	return sizes, func() {
		signal.Stop(sizes)
		close(sizes)
	}
}
