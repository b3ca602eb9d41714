package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// missing skips the test because a part of it is not installed. With
// JUNCTION_INTEGRATION_STRICT=1, as in CI, it fails instead.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	word := fmt.Sprintf(format, args...) + "; run integration/setup.sh"
	if os.Getenv("JUNCTION_INTEGRATION_STRICT") != "" {
		t.Fatal(word)
	}
	t.Skip("skip: " + word)
}

// cache returns a path in the folder that setup.sh installs into.
func cache(t testing.TB, elements ...string) string {
	t.Helper()
	root := os.Getenv("JUNCTION_INTEGRATION_DIR")
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		root = filepath.Join(home, ".cache", "junction-integration")
	}
	return filepath.Join(append([]string{root}, elements...)...)
}

// npm returns a path in one of the installed npm folders.
func npm(t testing.TB, folder string, elements ...string) string {
	t.Helper()
	if _, err := os.Stat(cache(t, "npm", folder, ".installed")); err != nil {
		missing(t, "npm packages of integration/npm/%s not installed", folder)
	}
	path := cache(t, append([]string{"npm", folder}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		missing(t, "npm package file %s not installed", path)
	}
	return path
}

// node returns the private Node 22.
func node(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return npm(t, "node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
}

// nodeEnv returns the environment with the private Node first on PATH.
func nodeEnv(t testing.TB) []string {
	t.Helper()
	path := filepath.Dir(node(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(os.Environ(), "PATH="+path, "NO_COLOR=1")
}

// python returns a program of the Python environment.
func python(t testing.TB, program string) string {
	t.Helper()
	return pythonOf(t, "python", program)
}

// pythonOf returns a program of one of the Python environments.
func pythonOf(t testing.TB, environment, program string) string {
	t.Helper()
	if _, err := os.Stat(cache(t, environment, ".installed")); err != nil {
		missing(t, "Python environment %s not installed", environment)
	}
	return cache(t, environment, "bin", program)
}

// rustProgram returns a program of the folder rust, as setup.sh built it. Where no cargo can build it the test skips in strict
// mode, too: not every release of Debian has a recent one.
func rustProgram(t testing.TB, name string) string {
	t.Helper()
	if why, err := os.ReadFile(cache(t, "rust", ".missing")); err == nil {
		t.Skip("skip: " + strings.TrimSpace(string(why)))
	}
	sources := []string{"rust/Cargo.toml", "rust/Cargo.lock"}
	for _, pattern := range []string{"rust/src/*.rs", "rust/src/bin/*.rs"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	sum := sha256.New()
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(source)
	}
	if built, err := os.ReadFile(cache(t, "rust", ".installed")); err != nil || strings.TrimSpace(string(built)) != hex.EncodeToString(sum.Sum(nil)) {
		missing(t, "programs of integration/rust not built")
	}
	return cache(t, "rust", "target", "debug", name)
}

// program returns a program of the system.
func program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		if path := filepath.Join("/usr/sbin", name); exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	missing(t, "program %s not installed", names[0])
	return ""
}

// staging lets one test at a time copy a script.
var staging sync.Mutex

// nodeScript copies a script and what it imports to where its packages are installed,
// because Node looks for packages next to the script and above, and returns the command to run it. Each
// script's folder has one of its own there, as scripts of other folders have the same names.
func nodeScript(t testing.TB, folder, script string, imports ...string) []string {
	t.Helper()
	staging.Lock()
	defer staging.Unlock()
	target := filepath.Join(npm(t, folder), filepath.Base(filepath.Dir(script)))
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range append(imports, script) {
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(target, filepath.Base(from))
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, source) {
			continue
		}
		if err := os.WriteFile(to, source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []string{node(t), filepath.Join(target, filepath.Base(script))}
}

// built remembers the Go programs of this run by their package.
var built struct {
	sync.Mutex
	dir      string
	programs map[string]func() (string, error)
}

// goProgram builds a package of a module once for all tests and returns the program.
func goProgram(t testing.TB, module, pkg string) string {
	t.Helper()
	built.Lock()
	if built.programs == nil {
		built.programs = map[string]func() (string, error){}
	}
	build := built.programs[module+pkg]
	if build == nil {
		build = sync.OnceValues(func() (string, error) {
			out := filepath.Join(built.dir, fmt.Sprintf("%x", module+pkg))
			command := exec.Command("go", "build", "-o", out, pkg)
			command.Dir = module
			if text, err := command.CombinedOutput(); err != nil {
				return "", fmt.Errorf("go build %s in %s: %w\n%s", pkg, module, err, text)
			}
			return out, nil
		})
		built.programs[module+pkg] = build
	}
	built.Unlock()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// junction returns the binary under test: $JUNCTION_BIN, or ../cmd/junction built now.
func junction(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("JUNCTION_BIN"); path != "" {
		return path
	}
	if _, err := os.Stat("../cmd/junction"); err != nil {
		t.Skip("skip: cmd/junction is not there")
	}
	return goProgram(t, "..", "./cmd/junction")
}

// matrix reports whether all of each table is tried, as at night. On each change tables of pairs are thinned: every client still meets every
// kind of server, and every transport every other, but not in all combinations.
func matrix() bool { return os.Getenv("JUNCTION_INTEGRATION_MATRIX") != "" }

// fewer is how often something is tried on each change, and at night.
func fewer(onChange, atNight int) int {
	if matrix() {
		return atNight
	}
	return onChange
}

// skipOnChange ends a test that is for a night.
func skipOnChange(t testing.TB) {
	t.Helper()
	if !matrix() {
		t.Skip("skip: JUNCTION_INTEGRATION_MATRIX is not set")
	}
}

// atOnce is how many tests that wait for other processes run at the same time: on two cores, three leave a quarter of them idle.
const atOnce = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil { // -parallel on the command line comes after
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "junction-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run runs a command to its end and returns what it printed. A failure fails the test.
func run(t testing.TB, env []string, argv ...string) string {
	t.Helper()
	stdout, stderr, err := tryRun(t, env, argv...)
	if err != nil {
		t.Fatalf("%v: %v\nstdout: %.2000s\nstderr: %.2000s", argv, err, stdout, stderr)
	}
	return stdout
}

// runTime is how long a command may run: one that drives a browser takes long where the machine is busy.
const runTime = 4 * time.Minute

// tryRun runs a command, for runTime at most.
func tryRun(t testing.TB, env []string, argv ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	inGroup(command)
	command.Env = env
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	err = command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // servers that outlived their client
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; a server held its stderr
	}
	return out.String(), log.String(), err
}
