package threadtime

import (
	"syscall"
	"time"
)

// spent returns the CPU time that the calling thread has used so far.
func spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &usage); err != nil {
		return time.Duration(time.Now().UnixNano()) // the same as on other systems
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
