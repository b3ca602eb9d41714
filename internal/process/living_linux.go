package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// living reports whether the group has a member that is not a zombie. Orphans that died stay in the
// group until the system's first process reaps them, which in a container may be late or never.
func (g group) living() bool {
	living := false
	known := g.eachMember(func(stat [][]byte) bool {
		living = string(stat[0]) != "Z" && string(stat[0]) != "X"
		return !living
	})
	return living || !known
}

// eachMember calls f with the fields of /proc/pid/stat from the state on, for each process of the
// group, until f returns false. known is false if the system does not provide them.
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
		stat, _ := os.ReadFile("/proc/" + name + "/stat") // empty for a process that has ended in the meantime
		// "pid (name) state ppid pgrp ...": the name may contain anything, including parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) >= 15 && string(fields[2]) == id && !f(fields) {
			break
		}
	}
	return true
}

// tick is the unit of processor time in /proc.
const tick = time.Second / 100

// CPUTime returns the processor time that the processes of the child's group, and those that they
// waited for, have used so far. It reports false if the system does not provide it.
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
