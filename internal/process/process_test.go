//go:build unix

package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const grace = 300 * time.Millisecond

// closeIn closes p and checks the number of grace periods that it took.
func closeIn(t *testing.T, p *Process, steps int) {
	t.Helper()
	began := time.Now()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	if least := time.Duration(steps) * grace; took < least || took > least+9*time.Second {
		t.Errorf("Close took %v, want %d times %v", took, steps, grace)
	}
	if left := members(t, p.PID()); len(left) > 0 {
		t.Errorf("processes left in the group after Close: %v", left)
	}
}

func wantExit(t *testing.T, p *Process, want string) {
	t.Helper()
	<-p.Exited()
	got := ""
	if err := p.ExitError(); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("exit error %q, want %q", got, want)
	}
}

func TestChildExitsWhenItsInputIsClosed(t *testing.T) {
	p := start(t, Command{Grace: time.Minute}, "echo")
	if _, err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if line := readLine(t, p); line != "hello" {
		t.Errorf("echo says %q", line)
	}
	if err := p.ExitError(); err != nil {
		t.Errorf("exit error while it runs: %v", err)
	}
	closeIn(t, p, 0)
	wantExit(t, p, "")
}

func TestChildThatIgnoresItsInputIsTerminated(t *testing.T) {
	p := start(t, Command{Grace: grace}, "obeys TERM only")
	closeIn(t, p, 1)
	wantExit(t, p, "")
}

func TestChildThatIgnoresTermIsKilled(t *testing.T) {
	p := start(t, Command{Grace: grace}, "obeys nothing")
	closeIn(t, p, 2)
	wantExit(t, p, "killed by SIGKILL")
}

// Launchers such as npx left servers behind (anthropics/claude-code#26658, #33947, #76306).
func TestClaudeCode26658AGrandchildEndsWithItsParent(t *testing.T) {
	p := start(t, Command{Grace: grace}, "waits for a stubborn grandchild")
	closeIn(t, p, 2)
	wantExit(t, p, "")
}

func TestObedientGrandchildThatIsLeftBehindEndsAtItsEndOfInput(t *testing.T) {
	p := start(t, Command{Grace: time.Minute}, "leaves an obedient grandchild")
	<-p.Exited()
	if _, err := io.ReadAll(p); err != nil {
		t.Error(err)
	}
	closeIn(t, p, 0)
}

func TestStubbornGrandchildThatIsLeftBehindIsKilledAtClose(t *testing.T) {
	p := start(t, Command{Grace: grace}, "leaves a stubborn grandchild")
	<-p.Exited()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left := members(t, p.PID()); len(left) > 0 {
		t.Errorf("left after Close: %v", left)
	}
}

func TestReadingEndsWhenALeftGrandchildHoldsThePipe(t *testing.T) {
	p := start(t, Command{Grace: grace}, "leaves a stubborn grandchild")
	if _, err := io.ReadAll(p); err != nil {
		t.Errorf("read to the end: %v", err)
	}
	p.stop() // the kill is on its way: the pipe is closed a moment before the process has ended
	if left := members(t, p.PID()); len(left) > 0 {
		t.Errorf("left without Close: %v", left)
	}
}

// A process that leaves the group with setsid is not ended, but delays neither reading nor Close.
func TestDaemonThatHoldsThePipesHoldsNothingUp(t *testing.T) {
	p := begin(t, Command{Grace: grace}, "leaves a daemon")
	_, pid, _ := strings.Cut(readLine(t, p), " ")
	daemon, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(daemon, syscall.SIGKILL)
	if rest, err := io.ReadAll(p); err != nil || len(rest) > 0 {
		t.Errorf("read to the end: %q, %v", rest, err)
	}
	closeIn(t, p, 0)
	if err := syscall.Kill(daemon, 0); err != nil {
		t.Errorf("the daemon: %v", err)
	}
}

func TestDaemonThatHoldsThePipesDoesNotHoldUpClose(t *testing.T) {
	p := begin(t, Command{Grace: time.Minute}, "leaves a daemon")
	_, pid, _ := strings.Cut(readLine(t, p), " ")
	daemon, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(daemon, syscall.SIGKILL)
	closeIn(t, p, 0)
}

func TestOutputBeforeExitIsReadLater(t *testing.T) {
	p := start(t, Command{Grace: time.Millisecond}, "says much and exits")
	<-p.Exited()
	p.stdout.end() // like the grace period after exit
	if p.Stderr() != "last words" {
		t.Errorf("stderr at Exited: %q", p.Stderr())
	}
	rest, err := io.ReadAll(p)
	if err != nil || string(rest) != strings.Repeat("x", 60000) {
		t.Errorf("%d bytes left to read, %v; want 60000", len(rest), err)
	}
}

func TestExitErrorSaysHowTheChildEnded(t *testing.T) {
	t.Run("by a status", func(t *testing.T) {
		p := start(t, Command{}, "exits with status 3")
		wantExit(t, p, "exited with status 3")
		_, err := p.Write([]byte("hello"))
		if !errors.Is(err, io.ErrClosedPipe) || !strings.HasSuffix(err.Error(), ": exited with status 3") {
			t.Errorf("write after exit: %v", err)
		}
		if n, err := p.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Errorf("read after exit: %d, %v", n, err)
		}
	})
	t.Run("by a signal, without a word", func(t *testing.T) {
		p := begin(t, Command{}, "kills itself")
		if b, err := io.ReadAll(p); err != nil || len(b) > 0 {
			t.Errorf("read %q, %v", b, err)
		}
		wantExit(t, p, "killed by SIGKILL")
		if p.Stderr() != "" {
			t.Errorf("stderr %q", p.Stderr())
		}
	})
}

func TestCloseEndsReadsAndWritesThatWait(t *testing.T) {
	p := start(t, Command{Grace: grace}, "obeys nothing")
	var running sync.WaitGroup
	waiting := make(chan struct{}, 2)
	running.Go(func() {
		waiting <- struct{}{}
		if _, err := p.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, os.ErrClosed) {
			t.Errorf("read: %v", err)
		}
	})
	running.Go(func() {
		waiting <- struct{}{}
		if _, err := p.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write: %v", err)
		}
	})
	<-waiting
	<-waiting
	closeIn(t, p, 2)
	running.Wait()
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	if _, err := p.Write(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
}

// A second copy was started without waiting for the first (github/copilot-cli#4392).
func TestCopilotCLI4392EveryCloseWaitsForTheEnd(t *testing.T) {
	p := start(t, Command{Grace: grace}, "obeys TERM only")
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			select {
			case <-p.Exited():
			default:
				t.Error("Close returned before the child was reaped")
			}
		})
	}
	running.Wait()
	closeIn(t, p, 0)
}

// It worked in the terminal but not in the desktop app, without an explanation
// (aaif-goose/goose#5048).
func TestGoose5048ProgramsAreFoundOrExplained(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := WithoutStarts(func() error { return os.WriteFile(path, []byte(text), mode) }); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o600)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)
	binary := write("binary", "\x01\x02\x03", 0o700)
	for _, test := range []struct {
		name    string
		command Command
		want    string
		is      error
	}{
		{"no name", Command{}, `start "": no command given`, nil},
		{"a name that is nowhere", Command{Path: "no-such-program"}, `start "no-such-program": not found in PATH; is it installed?`, exec.ErrNotFound},
		{"a name that is not in its own PATH", Command{Path: "sh", Env: []string{"PATH=" + dir}}, `start "sh": not found in PATH; is it installed?`, exec.ErrNotFound},
		{"a name that only a relative PATH finds", Command{Path: "orphan", Dir: dir, Env: []string{"PATH=."}}, `start "orphan": not found in PATH; is it installed?`, exec.ErrNotFound},
		{"a path that is not there", Command{Path: "/no/such/program", Args: []string{"--token=secret"}}, `start "/no/such/program": no such file; is it installed?`, fs.ErrNotExist},
		{"a file that is no program", Command{Path: plain}, `start "` + plain + `": may not be executed; check its permissions`, fs.ErrPermission},
		{"a script without interpreter", Command{Path: orphan}, `start "` + orphan + `": the interpreter that its first line names does not exist`, fs.ErrNotExist},
		{"a relative path of the working directory", Command{Path: "./orphan", Dir: dir}, `start "./orphan": the interpreter that its first line names does not exist`, fs.ErrNotExist},
		{"a file of another system", Command{Path: binary}, `start "` + binary + `": not a program that this system can run`, syscall.ENOEXEC},
		{"a missing working directory", Command{Path: "sh", Dir: dir + "/none"}, `start "sh": working directory "` + dir + `/none" does not exist`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := openFiles(t)
			_, err := Start(test.command)
			if err == nil || err.Error() != test.want {
				t.Fatalf("error %v\nwant  %s", err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if now := openFiles(t); now != files {
				t.Errorf("%d files open, %d before", now, files)
			}
		})
	}
}

func TestChildGetsItsEnvironmentDirectoryAndArguments(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, Command{Args: []string{"one", "two words"}, Env: []string{"GREETING=hello"}, Dir: dir}, "prints its environment")
	out, err := io.ReadAll(p)
	if want := dir + "\nhello\none|two words\n"; err != nil || string(out) != want {
		t.Errorf("child says %q, %v; want %q", out, err, want)
	}
}
