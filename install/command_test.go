package install

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/process/processtest"
)

// fakeProgram puts a program into PATH, before all others.
func fakeProgram(t *testing.T, name, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs are scripts")
	}
	dir := t.TempDir()
	processtest.WriteProgram(t, filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestFailedCommandsQuoteTheirOutput(t *testing.T) {
	fakeProgram(t, "npm-x", "echo out; echo first >&2; echo 'second' >&2; exit 3")
	out, err := run(t.Context(), command{name: "npm-x", args: []string{"--quiet", "ci", "x"}, time: time.Minute})
	if want := "npm-x ci exited with status 3: first\nsecond"; err == nil || err.Error() != want || string(out) != "out\n" {
		t.Errorf("%q, %v, want %s", out, err, want)
	}
	if !failedWith(err, "nothing", "second") || failedWith(err, "third") {
		t.Error("what it says is not found")
	}
}

func TestACommandThatIsMissingIsNamedWithItsRemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, want := range map[string]string{
		"npm":    "npm is not on this machine: install Node.js, from nodejs.org or with the system's packages (apt install nodejs npm, brew install node), and see that it is in PATH",
		"cargo":  "cargo is not on this machine: install Rust from rustup.rs",
		"docker": "docker is not on this machine: install Docker or Podman, and see that its service runs",
		"other":  "other is not on this machine: install it, and add it to PATH",
	} {
		if _, err := run(t.Context(), command{name: name, time: time.Minute}); !errors.Is(err, ErrRuntime) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	s := newStore(t)
	for _, p := range []Package{{Type: NPM, Name: "x"}, {Type: PyPI, Name: "x"}, {Type: Cargo, Name: "x"}, {Type: NuGet, Name: "x"}} {
		if _, err := s.Resolve(t.Context(), p); !errors.Is(err, ErrRuntime) {
			t.Errorf("%s: error %v", p.Type, err)
		}
	}
}

func TestAnEndlessCommandIsKilledWithItsChildren(t *testing.T) {
	for name, test := range map[string]struct {
		limit time.Duration
		gives bool // whether the context ends once its child runs
		want  string
	}{
		"its time":    {200 * time.Millisecond, false, "slow took longer than 200ms"},
		"its context": {time.Hour, true, "slow enough"},
	} {
		t.Run(name, func(t *testing.T) {
			started := filepath.Join(t.TempDir(), "started")
			fakeProgram(t, "slow", "sleep 1000 & echo $! >"+started+".new; mv "+started+".new "+started+"; wait")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.gives {
				go func() {
					for _, err := os.Stat(started); err != nil && ctx.Err() == nil; _, err = os.Stat(started) {
						time.Sleep(time.Millisecond)
					}
					cancel(errors.New("enough"))
				}()
			}
			start := time.Now()
			_, err := run(ctx, command{name: "slow", time: test.limit})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			pid, err := os.ReadFile(started)
			if test.gives && err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS == "linux" && err == nil { // the limit may pass before it started any process
				stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				if err == nil && !strings.Contains(string(stat), ") Z ") { // its new parent has not waited for it yet
					t.Errorf("what it started is still there: %s", stat)
				}
			}
		})
	}
}

func TestACommandMayNotWriteWithoutEnd(t *testing.T) {
	fakeProgram(t, "loud", "exec yes")
	out, err := run(t.Context(), command{name: "loud", time: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "loud") || len(out) != maxOutput+1 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestEnvironmentOfPackageManagers(t *testing.T) {
	got := cleanEnv([]string{"PATH=p", "HOME=h", "https_proxy=x", "NO_PROXY=y", "npm_config_registry=r", "NPM_CONFIG_x=1", "PIP_INDEX_URL=i", "UV_INDEX=u", "CARGO_HOME=c", "LC_ALL=C",
		"OPENAI_API_KEY=secret", "AWS_SECRET_ACCESS_KEY=secret", "GITHUB_TOKEN=secret", "NODE_OPTIONS=--require=x", "PYTHONPATH=x", "LD_PRELOAD=x", "=C:=x", "PATHOS=x"})
	want := []string{"PATH=p", "HOME=h", "https_proxy=x", "NO_PROXY=y", "npm_config_registry=r", "NPM_CONFIG_x=1", "PIP_INDEX_URL=i", "UV_INDEX=u", "CARGO_HOME=c", "LC_ALL=C"}
	if !slices.Equal(got, want) {
		t.Errorf("it sees %q, want %q", got, want)
	}
}

// Users with write access to the current folder, as of a project, or to a shared folder, must not
// control package managers. Cargo, npm and .NET read settings from there and from the folders
// above, and Python reads modules.
func TestPackageManagersDoNotStartInForeignFolders(t *testing.T) {
	log, others := filepath.Join(t.TempDir(), "log"), t.TempDir()
	t.Chdir(others)
	t.Setenv("TMPDIR", others)
	hash := strings.Repeat("a", 64)
	note := `echo "$(basename "$0") $1 $2: $(pwd)" >>` + log + "\n"
	fakeProgram(t, "cargo", note+`[ "$1" = generate-lockfile ] && printf '[[package]]\nname = "crate"\nversion = "1.0.0"\nsource = "`+publicCrates+`"\nchecksum = "`+hash+`"\n' >Cargo.lock`)
	fakeProgram(t, "dotnet", note+"exit 1")
	fakeProgram(t, "npm", note+"exit 1")
	fakeProgram(t, "python3", note+`for arg; do case "$arg" in --report=*)
printf '{"install":[{"metadata":{"name":"package","version":"1.0"},"download_info":{"archive_info":{"hashes":{"sha256":"`+hash+`"}}}}]}' >"${arg#--report=}";; esac; done`)
	fakeProgram(t, "node", "exit 1")
	if path, err := exec.LookPath("uv"); err == nil {
		t.Skipf("skip: %s would be used in place of pip", path)
	}
	s := newStore(t)
	for _, p := range []Package{{Type: Cargo, Name: "crate", Version: "1.0.0", Scripts: true}, {Type: NuGet, Name: "Tool", Version: "1.0.0"}, {Type: NPM, Name: "package", Version: "1.0.0"}, {Type: PyPI, Name: "package", Version: "1.0"}} {
		_, err := s.Resolve(t.Context(), p)
		if err == nil != (p.Type == Cargo) {
			t.Errorf("%s: error %v", p.Type, err)
		}
		s.Advice(t.Context(), &Locked{Package: p})
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, dir, _ := strings.Cut(strings.TrimSpace(line), ": "); !strings.HasPrefix(dir, s.Dir()) {
			t.Errorf("started is %s", line)
		}
	}
	for _, want := range []string{"cargo info", "dotnet nuget", "npm view", "npm install", "python3 -m pip", "python3 -c import platform", "python3 -c from pip"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s was not started, so nothing is known of it:\n%s", want, text)
		}
	}
}
