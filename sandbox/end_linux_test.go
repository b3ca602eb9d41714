package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/process"
)

// asParent makes the test binary start a confined program and wait.
const asParent = "SANDBOX_TEST_PARENT"

// leaves returns a script that starts processes which outlive their parents, leave the group, and
// ignore every signal they can. mark identifies them.
func leaves(mark string) string {
	return fmt.Sprintf(`trap "" TERM HUP INT; setsid sleep 1000.%s & (setsid sh -c 'trap "" TERM HUP INT; sleep 1000.%s & wait' &) ; echo ready; read line`, mark, mark)
}

// alive counts processes with the mark in their command lines.
func alive(mark string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.HasPrefix(line, []byte("sleep")) && bytes.Contains(line, []byte("1000."+mark)) {
			n++
		}
	}
	return n
}

// within10s polls a condition without an event of the system.
func within10s(f func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if f() {
			return true
		}
	}
	return false
}

func playParent(mark string) {
	s, err := New(Profile{}, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command("sh", "-c", leaves(mark))
	in, _, _ := os.Pipe()
	cmd.Stdin, cmd.Stdout = in, os.Stdout
	if _, err := s.Start(cmd); err != nil {
		fmt.Println(err)
		return
	}
	select {}
}

func TestNothingIsLeftOfASandbox(t *testing.T) {
	mark := fmt.Sprint(os.Getpid())
	t.Run("when its parent is killed", func(t *testing.T) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asParent+"="+mark+"1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != "ready\n" || err != nil || !within10s(func() bool { return alive(mark+"1") == 2 }) {
			t.Fatalf("%q, %v, %d are alive", line, err, alive(mark+"1"))
		}
		cmd.Process.Kill()
		cmd.Wait()
		if !within10s(func() bool { return alive(mark+"1") == 0 }) {
			t.Errorf("%d are alive", alive(mark+"1"))
		}
	})
	for name, end := range map[string]func(*process.Process){
		"when it is closed":     func(p *process.Process) { p.Close() },
		"when it is terminated": func(p *process.Process) { p.Terminate() },
		"when it ends by itself": func(p *process.Process) {
			p.Write([]byte("end\n"))
			<-p.Exited()
			p.Close()
		},
		"when its first process is killed": func(p *process.Process) {
			syscall.Kill(p.PID(), syscall.SIGKILL)
			<-p.Exited()
			p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			mark := mark + "2" + fmt.Sprint(len(name))
			s, err := New(Profile{}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := process.Start(process.Command{Path: "sh", Args: []string{"-c", leaves(mark)}, Launch: s.Start, Grace: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			b := make([]byte, 6)
			if _, err := io.ReadFull(p, b); err != nil || !within10s(func() bool { return alive(mark) == 2 }) {
				t.Fatalf("%q, %v, %d are alive", b, err, alive(mark))
			}
			end(p)
			if n := alive(mark); n != 0 { // at once: Close has returned
				t.Errorf("%d are alive", n)
			}
		})
	}
}

func TestMissingPrograms(t *testing.T) {
	s, err := New(Profile{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/nonexistent/program": `start "/nonexistent/program": no such file; is it installed?`,
		"nonexistent-program":  `start "nonexistent-program": not found in PATH; is it installed?`,
	} {
		_, err := process.Start(process.Command{Path: path, Launch: s.Start})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestStateReportsConfinement(t *testing.T) {
	state := Available().String()
	if !strings.HasPrefix(state, "confined: files, network, network by host names, other processes, system calls, ") {
		t.Error(state)
	}
	t.Log(state)
}

// Without namespaces there is no first process of all, and the process that reaps them can be
// killed with its group.
func TestNothingIsLeftOfASandboxWithoutNamespaces(t *testing.T) {
	for name, script := range map[string]string{"that ends": "%s", "that has to be killed": `%s; while :; do sleep 0.01; done`} {
		t.Run(name, func(t *testing.T) {
			g, lacking := newGroup(order{Memory: defaultMemory, Processes: defaultProcesses}, 0)
			g.close(order{}, func(Refusal) {})
			if lacking["memory"] != "" && lacking["pids"] != "" && name != "that ends" {
				t.Skip("there is no control group, and nobody else knows what is left")
			}
			mark := fmt.Sprintf("%d3%d", os.Getpid(), len(name))
			s, err := New(Profile{}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := process.Start(process.Command{Path: "sh", Args: []string{"-c", fmt.Sprintf(script, leaves(mark))}, Launch: s.startBare, Grace: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			b := make([]byte, 6)
			if _, err := io.ReadFull(p, b); err != nil || !within10s(func() bool { return alive(mark) == 2 }) {
				t.Fatalf("%q, %v, %d are alive", b, err, alive(mark))
			}
			p.Close()
			if n := alive(mark); n != 0 {
				t.Errorf("%d are alive", n)
			}
		})
	}
}
