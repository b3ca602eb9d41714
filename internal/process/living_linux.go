package process

import (
	"bytes"
	"os"
	"strconv"
)

// living reports whether the group has a member that is not a zombie. Orphans
// that died stay in the group until the system's first process reaps them, which
// in a container may be late or never.
func (g group) living() bool {
	living := false
	known := g.eachMember(func(stat [][]byte) bool {
		living = string(stat[0]) != "Z" && string(stat[0]) != "X"
		return !living
	})
	return living || !known
}

// eachMember calls f with the fields of /proc/pid/stat from the state on, for
// each process of the group until f returns false; false where the system does
// not say which these are.
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
		stat, _ := os.ReadFile("/proc/" + name + "/stat") // empty for a process that is gone meanwhile
		// "pid (name) state ppid pgrp ...": the name may hold anything, parentheses too.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) >= 15 && string(fields[2]) == id && !f(fields) {
			break
		}
	}
	return true
}
