package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// living reports whether the group has a member that is not a zombie. Orphans that died stay in the
// group until the first process of the system reaps them. In a container this may happen late or
// never.
func (g group) living() bool {
	living := false
	known := g.eachMember(func(stat [][]byte) bool {
		living = string(stat[0]) != "Z" && string(stat[0]) != "X"
		return !living
	})
	return living || !known
}

// eachMember calls f for each process of the group, until f returns false. stat contains the fields
// of /proc/pid/stat, beginning with the process's state. known is false if the system does not
// provide these files.
func (g group) eachMember(f func(stat [][]byte) bool) (known bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	id := strconv.Itoa(g.id)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat") // empty if the process has ended since
		// The content is "pid (name) state ppid pgrp ...". The name can contain any character,
		// including parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) >= 15 && string(fields[2]) == id && !f(fields) {
			break
		}
	}
	return true
}

// tick is the unit of CPU time in /proc.
const tick = time.Second / 100

// CPUTime returns the CPU time that the processes of the child's group have used so far. It
// includes the time of ended processes for which they waited. It reports false if the system does
// not provide this data.
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
