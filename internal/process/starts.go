package process

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// memoryOfStart is the estimated memory of a starting program, such as one of Node or Python, in
// bytes.
const memoryOfStart = 256 << 20

// Starts returns how many programs may start at the same time. It is four for each processor and at
// least eight, as starting programs mostly wait for disks and networks. It is less if less memory
// is free, but at least two.
func Starts() int {
	n := max(8, 4*runtime.GOMAXPROCS(0))
	meminfo, _ := os.ReadFile("/proc/meminfo") // empty on systems without it
	if free, known := availableIn(meminfo); known {
		n = min(n, int(free/memoryOfStart))
	}
	return max(2, n)
}

// availableIn returns the available memory in the text of /proc/meminfo, in bytes.
func availableIn(meminfo []byte) (free int64, known bool) {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if rest, is := strings.CutPrefix(lines.Text(), "MemAvailable:"); is {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil && kib >= 0
		}
	}
	return 0, false
}
