package process

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// memoryOfStart is the estimated memory, in bytes, that a starting program needs, such as one
// written for Node or Python.
const memoryOfStart = 256 << 20

// Starts returns the number of programs that may start concurrently: four for each processor, and
// at least eight, because starting programs mostly wait for disks and networks. If less memory is
// free, the number is lower, but at least two.
func Starts() int {
	n := max(8, 4*runtime.GOMAXPROCS(0))
	meminfo, _ := os.ReadFile("/proc/meminfo") // empty on systems without this file
	if free, known := availableIn(meminfo); known {
		n = min(n, int(free/memoryOfStart))
	}
	return max(2, n)
}

// availableIn returns the available memory in bytes, according to the text of /proc/meminfo.
func availableIn(meminfo []byte) (free int64, known bool) {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if rest, is := strings.CutPrefix(lines.Text(), "MemAvailable:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil && kib >= 0
		}
	}
	return 0, false
}
