// Package threadtime measures the CPU time of a function, for tests of the cost of malicious input.
// In contrast to wall-clock time, CPU time does not depend on other work of the machine.
package threadtime

import (
	"runtime"
	"time"
)

// Of returns the CPU time of work, which runs on the caller's goroutine. The result does not
// include garbage collection in the background. On systems other than Linux it is the wall-clock
// time.
func Of(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := spent()
	work()
	return spent() - began
}
