package process

import (
	"strconv"
	"time"
)

// tick is the unit in which Linux tells programs of processor time.
const tick = time.Second / 100

// CPUTime returns the processor time that the processes of the child's group, and
// those that they waited for, have used so far; false where the system does not
// say.
func (p *Process) CPUTime() (used time.Duration, known bool) {
	known = p.group.eachMember(func(stat [][]byte) bool {
		for _, field := range stat[11:15] { // utime, stime, cutime and cstime
			n, _ := strconv.ParseInt(string(field), 10, 64)
			used += time.Duration(n) * tick
		}
		return true
	})
	return used, known
}
