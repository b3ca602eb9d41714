//go:build !linux

package process

import "time"

// CPUTime reports false, because this system does not provide the CPU time of a process group.
func (p *Process) CPUTime() (time.Duration, bool) { return 0, false }
