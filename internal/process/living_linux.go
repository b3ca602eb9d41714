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
	dir, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return true
	}
	id := strconv.AppendInt(nil, int64(g.id), 10)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		if state, group := stateAndGroup(stat); bytes.Equal(group, id) && state != "Z" && state != "X" {
			return true
		}
	}
	return false
}

// stateAndGroup reads a line of /proc/pid/stat: "pid (name) state ppid pgrp
// ...", where the name may hold anything, parentheses too.
func stateAndGroup(stat []byte) (state string, group []byte) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return "", nil
	}
	return string(fields[0]), fields[2]
}
