//go:build !linux

package process

import "time"

// CPUTime reports false: this system does not provide the processor time of a group.
func (p *Process) CPUTime() (time.Duration, bool) { return 0, false }
