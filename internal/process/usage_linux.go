package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// tick is the unit in which Linux tells programs of processor time.
const tick = time.Second / 100

// CPUTime returns the processor time that the processes of the child's group, and
// those that they waited for, have used so far; false where the system does not
// say.
func (p *Process) CPUTime() (time.Duration, bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, false
	}
	id := strconv.AppendInt(nil, int64(p.PID()), 10)
	var used time.Duration
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		if _, group := stateAndGroup(stat); bytes.Equal(group, id) {
			used += ticks(stat)
		}
	}
	return used, true
}

// ticks adds up utime, stime, cutime and cstime of a line of /proc/pid/stat: the
// twelfth to fifteenth field after the name.
func ticks(stat []byte) (used time.Duration) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0
	}
	for _, field := range fields[11:15] {
		n, _ := strconv.ParseInt(string(field), 10, 64)
		used += time.Duration(n) * tick
	}
	return used
}
