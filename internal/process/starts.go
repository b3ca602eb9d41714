package process

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// memoryOfStart is how many bytes are reckoned for a program that starts, such as one of Node or Python.
const memoryOfStart = 256 << 20

// Starts returns how many programs may start at the same time: four for each processor and at least eight, as programs
// that start wait for disks and networks most of the time; fewer where less memory is free, and at least two.
func Starts() int {
	n := max(8, 4*runtime.GOMAXPROCS(0))
	meminfo, _ := os.ReadFile("/proc/meminfo") // empty where the system has none
	if free, known := availableIn(meminfo); known {
		n = min(n, int(free/memoryOfStart))
	}
	return max(2, n)
}

// availableIn returns how many bytes are available by the text of /proc/meminfo.
func availableIn(meminfo []byte) (free int64, known bool) {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if rest, is := strings.CutPrefix(lines.Text(), "MemAvailable:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil && kib >= 0
		}
	}
	return 0, false
}
