package main

import "os"

// resizes returns a channel that says nothing: no signal tells of a change of the
// terminal's size here.
func resizes() (sizes chan os.Signal, stop func()) {
	sizes = make(chan os.Signal)
	return sizes, func() { close(sizes) }
}
