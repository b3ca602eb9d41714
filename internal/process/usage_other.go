//go:build !linux

package process

import "time"

// CPUTime returns the processor time of the child's group; false, as this system
// does not say.
func (p *Process) CPUTime() (time.Duration, bool) { return 0, false }
