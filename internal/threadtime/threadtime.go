// Package threadtime measures the processor time of a function, for tests of the cost of hostile
// input. Unlike wall-clock time it does not pass while the machine is busy with other work.
package threadtime

import (
	"runtime"
	"time"
)

// Of returns the processor time of work in the caller's goroutine, without garbage collection in
// the background. On systems other than Linux it returns the wall-clock time.
func Of(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := spent()
	work()
	return spent() - began
}
