package clitest

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/place"
)

// RunTests runs the tests of a package, with none of the user's secrets, and returns the exit code. Goroutines that are left
// behind are a failure.
func RunTests(m *testing.M) int {
	slog.SetLogLoggerLevel(slog.LevelError) // as main does
	os.Setenv("JUNCTION_KEYRING", "off")    // it is the user's
	// Children would wait a second each.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	_ = flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0))) // most wait for what others do, and for time to pass
	before := runtime.NumGoroutine()
	code := m.Run()
	if code == 0 && !settled(before) {
		fmt.Fprintln(os.Stderr, "goroutines are left behind:")
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		return 1
	}
	return code
}

// settled waits for goroutines that are about to end.
func settled(before int) bool {
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// places are those of the tests that run, by their names.
var places sync.Map

// Alone gives a test a place of its own, and has it run next to others.
func Alone(t *testing.T) {
	t.Helper()
	if root, _, _ := strings.Cut(t.Name(), "/"); slices.Contains(notYet, root) {
		InProcess(t)
		return
	}
	if _, again := places.Load(t.Name()); !again && !strings.Contains(t.Name(), "/") {
		t.Parallel()
	}
	Settle(t)
}

// notYet are the tests that need the process to be where they are alone. It only shrinks.
var notYet = []string{
	"TestPermissionsAreListedAndTakenBack",
	"TestTrustThatIsSaidTwiceIsTakenBackOrNamed",
	"TestPermissionsFromElsewhereAreNotTakenBackHere",
}

// Settle gives a test a place of its own, with none of the settings of whoever runs the tests.
func Settle(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	keepPlace(t, place.Place{Vars: os.Environ(), Dir: home})
	for _, name := range HomeVariables() {
		Setenv(t, name, home)
	}
}

// InProcess has the process be where a test is alone, for what has no place yet: programs in a sandbox.
func InProcess(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range HomeVariables() {
		t.Setenv(name, home)
	}
	t.Chdir(home)
	keepPlace(t, place.Place{})
}

func HomeVariables() []string {
	return []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA"}
}

func keepPlace(t testing.TB, p place.Place) {
	places.Store(t.Name(), p)
	t.Cleanup(func() { places.Delete(t.Name()) })
}

// PlaceOf returns the place of a test, or of the one that it is a part of; without alone it is that of the process.
func PlaceOf(t testing.TB) place.Place {
	for name, found := t.Name(), true; found; {
		if p, is := places.Load(name); is {
			return p.(place.Place)
		}
		end := strings.LastIndexByte(name, '/')
		name, found = name[:max(end, 0)], end >= 0
	}
	return place.Place{}
}

// Setenv sets a variable in the place of a test.
func Setenv(t testing.TB, name, value string) {
	t.Helper()
	p := PlaceOf(t)
	if _, is := places.Load(t.Name()); is && p.Vars == nil { // it is in the process
		t.Setenv(name, value)
		return
	}
	p.Vars = append(slices.Clip(p.Environ()), name+"="+value)
	keepPlace(t, p)
}

// Chdir has a test work in another folder.
func Chdir(t testing.TB, dir string) {
	t.Helper()
	p := PlaceOf(t)
	if _, is := places.Load(t.Name()); is && p.Vars == nil { // it is in the process
		t.Chdir(dir)
		return
	}
	p.Dir = filepath.Clean(In(t, dir))
	keepPlace(t, p)
}

// In returns the path of a file that is named in the place of a test.
func In(t testing.TB, name string) string { return PlaceOf(t).Path(name) }

// AwaitStarts waits for programs that other tests are starting: until they run, they hold what this process closed, such as locks.
func AwaitStarts() {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
}
