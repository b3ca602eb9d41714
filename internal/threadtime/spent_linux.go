package threadtime

import (
	"syscall"
	"time"
)

// spent returns the processor time of the calling thread so far.
func spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &usage); err != nil {
		return time.Duration(time.Now().UnixNano()) // like other systems
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
