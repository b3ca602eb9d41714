// Package threadtime measures what a piece of work costs the processor, for
// tests of what hostile input may cost: unlike the clock's, this time does not
// pass while the machine is busy with something else.
package threadtime

import (
	"runtime"
	"time"
)

// Of returns how long the processor was busy with work, as far as that was done
// in the caller's goroutine; collecting its garbage in the background does not
// count. Where the system does not tell (all but Linux) it is the time that
// passed.
func Of(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := spent()
	work()
	return spent() - began
}
