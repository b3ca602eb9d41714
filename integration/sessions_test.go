package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

// everythingOf is Junction's own server as a command, so that it is one like any other.
func everythingOf(t testing.TB) map[string][]string {
	t.Helper()
	return map[string][]string{"everything": {junction(t), "serve", "everything", "--stdio"}}
}

func sumTalk() []replay.Turn {
	return []replay.Turn{
		{Expect: replay.Expect{Last: "user", Contains: []string{"two and forty"}, Tools: []string{"add"}}, Calls: callOf("add", object{"a": 2, "b": 40})},
		{Expect: returned("42"), Then: saying("It is %s.", `[0-9]+`)},
		{Expect: asked("once more"), Then: saying("As I said: %s.", `[0-9]+`)},
	}
}

// A chat uses a junction up that runs; --json tells the seven steps.
func TestChatThroughARunningUp(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	serving(t, isolated(t), address, junction(t), "up", "--config", configured(t, everythingOf(t)), "--http", address)
	chat := newChat(t, nil, sumTalk(), "--up=http://"+address+"/mcp", "--approve", "junction", "--allow", "*/*add")
	stdout, stderr, code := chat.ask(t, "What are two and forty?", "--json")
	if code != 0 {
		t.Fatalf("exit code %d\nstderr: %.4000s", code, stderr)
	}
	all := events(t, stdout)
	want := []string{"list", "ask", "decide", "call", "result", "ask", "decide", "answer"}
	if got := steps(all); !slices.Equal(got, want) {
		t.Errorf("the steps are %q, want %q", got, want)
	}
	last := all[len(all)-1].Answered
	if last == nil || last.Text != "It is 42." || last.Stop != "end" || last.Totals.Calls != 1 || last.Totals.Requests != 2 {
		t.Errorf("the last event is %+v", last)
	}
}

// The conversation goes on in another process, with what was said and returned before.
func TestChatGoesOn(t *testing.T) {
	t.Parallel()
	chat := newChat(t, everythingOf(t), sumTalk(), "--approve", "everything", "--allow", "everything/add")
	for _, question := range []struct {
		text  string
		want  string
		flags []string
	}{
		{"What are two and forty?", "It is 42.\n", nil},
		{"Say it once more.", "As I said: 42.\n", []string{"--resume"}},
	} {
		stdout, stderr, code := chat.ask(t, question.text, question.flags...)
		if code != 0 || stdout != question.want {
			t.Fatalf("exit code %d, printed %q, want %q\nstderr: %.4000s", code, stdout, question.want, stderr)
		}
	}
}

func waitTalk(tool string, arguments object) []replay.Turn {
	return []replay.Turn{
		{Expect: asked(), Calls: callOf(tool, arguments)},
		{Expect: asked("What happened"), Text: "I was cut off."},
	}
}

// calling starts a chat that calls a tool which takes its time, and waits until it runs.
func (c *chat) calling(t *testing.T) (running *exec.Cmd, stderr *tail, drained <-chan struct{}) {
	t.Helper()
	command := c.command(t.Context(), t, "--json", "-p", "Wait for me.")
	stderr = &tail{}
	command.Stderr = stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }) // it may have ended
	called, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Called != nil {
				called <- struct{}{}
			}
		}
	}()
	select {
	case <-called:
	case <-done:
		t.Fatalf("the chat ended before it called: %v\n%s", command.Wait(), stderr)
	case <-time.After(chatTime):
		t.Fatalf("nothing was called: %s", stderr)
	}
	return command, stderr, done
}

// A chat that was killed in the middle of a call goes on with a history that a strict
// provider takes, and its server is gone.
func TestChatThatWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	talk := waitTalk("wait", object{"milliseconds": 600000})
	chat := newChat(t, everythingOf(t), talk, "--approve", "everything", "--allow", "everything/wait")
	command, _, drained := chat.calling(t)
	children := descendants(t, command.Process.Pid)
	if len(children) != 1 {
		t.Errorf("the chat has the children %v, want the server", children)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-drained
	_ = command.Wait() // it was killed
	areGone(t, children)
	stdout, stderr, code := chat.ask(t, "What happened?", "--resume")
	if code != 0 || stdout != "I was cut off.\n" {
		t.Errorf("exit code %d, printed %q\nstderr: %.4000s", code, stdout, stderr)
	}
}

// Ctrl-C in the middle of a call ends the chat with all servers it started, those too
// that do not end when their input does; the history is valid.
func TestInterruptedChatLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	servers := everythingOf(t)
	servers["other"] = npmServer("@modelcontextprotocol/server-everything/dist/index.js", "stdio")(t)
	talk := waitTalk("trigger-long-running-operation", object{"duration": 600, "steps": 600})
	chat := newChat(t, servers, talk, "--approve", "everything", "--approve", "other", "--allow", "other/*", "--root", ".", "--tool-budget", "-1")
	command, stderr, drained := chat.calling(t)
	children := descendants(t, command.Process.Pid)
	if len(children) < 2 {
		t.Errorf("the chat has the children %v, want two servers", children)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-drained:
	case <-time.After(30 * time.Second):
		t.Fatalf("the chat does not end 30 s after it was interrupted: %s", stderr)
	}
	if _ = command.Wait(); command.ProcessState.ExitCode() != 130 {
		t.Errorf("the exit code is %d, want 130: %s", command.ProcessState.ExitCode(), stderr)
	}
	areGone(t, children)
	stdout, log, code := chat.ask(t, "What happened?", "--resume")
	if code != 0 || stdout != "I was cut off.\n" {
		t.Errorf("exit code %d, printed %q\nstderr: %.4000s", code, stdout, log)
	}
}

// descendants are the processes that a process started, and those that they started.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	children := childrenOf(t, pid)
	for _, child := range slices.Clone(children) {
		children = append(children, descendants(t, child)...)
	}
	return children
}

// areGone waits until none of the processes runs.
func areGone(t *testing.T, processes []int) {
	t.Helper()
	var left []int
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		left = slices.DeleteFunc(slices.Clone(processes), func(pid int) bool { return !running(pid) })
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("the processes %v still run", left)
}

// running reports whether a process runs: a zombie that its new parent has not noticed
// does not.
func running(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
