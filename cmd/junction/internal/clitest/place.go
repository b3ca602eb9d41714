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

// RunTests runs the tests of a package without the secrets of the user, and returns the exit code.
// It fails if goroutines remain after the tests.
func RunTests(m *testing.M) int {
	slog.SetLogLoggerLevel(slog.LevelError) // as main does
	os.Setenv("JUNCTION_KEYRING", "off")    // do not use the keyring of the user
	// With the race detector, each child process would otherwise wait one second before it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	_ = flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0))) // most tests wait for other processes or for time to pass
	before := runtime.NumGoroutine()
	code := m.Run()
	if code == 0 && !settled(before) {
		fmt.Fprintln(os.Stderr, "goroutines are left behind:")
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		return 1
	}
	return code
}

// settled waits for goroutines to end, and reports whether at most the given number is left.
func settled(before int) bool {
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// places holds the place of each running test, by test name.
var places sync.Map

// Alone gives a test its own place, and lets it run in parallel with other tests.
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

// notYet lists the tests that still change the environment and folder of the process. Add no tests
// to it.
var notYet = []string{
	"TestPermissionsAreListedAndTakenBack",
	"TestTrustThatIsSaidTwiceIsTakenBackOrNamed",
	"TestPermissionsFromElsewhereAreNotTakenBackHere",
}

// Settle gives a test its own place, without the settings of the user.
func Settle(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	keepPlace(t, place.Place{Vars: os.Environ(), Dir: home})
	for _, name := range HomeVariables() {
		Setenv(t, name, home)
	}
}

// InProcess changes the environment and folder of the process itself. It is for tests whose code
// does not use a place yet, such as programs in a sandbox.
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

// PlaceOf returns the place of a test, or of the test that contains it. Without either, it returns
// the place of the process.
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

// Setenv sets an environment variable in the place of a test.
func Setenv(t testing.TB, name, value string) {
	t.Helper()
	p := PlaceOf(t)
	if _, is := places.Load(t.Name()); is && p.Vars == nil { // the test uses the place of the process
		t.Setenv(name, value)
		return
	}
	p.Vars = append(slices.Clip(p.Environ()), name+"="+value)
	keepPlace(t, p)
}

// Chdir changes the working folder in the place of a test.
func Chdir(t testing.TB, dir string) {
	t.Helper()
	p := PlaceOf(t)
	if _, is := places.Load(t.Name()); is && p.Vars == nil { // the test uses the place of the process
		t.Chdir(dir)
		return
	}
	p.Dir = filepath.Clean(In(t, dir))
	keepPlace(t, p)
}

// In returns the absolute path of a file in the place of a test.
func In(t testing.TB, name string) string { return PlaceOf(t).Path(name) }

// AwaitStarts waits until no other test is starting a program. A starting program briefly holds
// files that this process has closed, such as locks.
func AwaitStarts() {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
}
