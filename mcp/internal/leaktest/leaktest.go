// Package leaktest fails the tests of a package that leave goroutines or files behind.
package leaktest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"
)

// Main runs the tests of a package and exits the process. Call it in TestMain.
func Main(m *testing.M) {
	files := openFiles()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code == 0 && !fuzzing() {
		code = checkLeaks(files)
	}
	os.Exit(code)
}

// fuzzing reports whether the process is fuzzing. The go tool then leaves a goroutine and the pipes
// to its workers.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

func checkLeaks(files int) int {
	for deadline := time.Now().Add(2 * time.Minute); ; {
		goroutines, open := runtime.NumGoroutine(), openFiles()
		if goroutines <= 1 && open <= files+1 { // the runtime's poller remains
			return 0
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "%d goroutines and %d open files (%d at the start) are left:\n%s\n", goroutines, open, files, stacks[:runtime.Stack(stacks, true)])
			return 1
		}
		runtime.Gosched()
	}
}

// openFiles returns the number of file descriptors, or 0 on systems without /proc.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target != "anon_inode:[eventpoll]" && target != "anon_inode:[eventfd]" {
			n++
		}
	}
	return n
}
