//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// group is a process group, identified by the process id of its leader. No other process can have
// this number while the group has a member. Once the group was found empty, no signals are sent to
// it any more.
type group struct{ id int }

func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func groupOf(leader *os.Process) group { return group{id: leader.Pid} }

func (g group) terminate() { syscall.Kill(-g.id, syscall.SIGTERM) }

func (g group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// empty reports whether the group has no process that must be ended. It must be called only after
// the leader was reaped. It also reaps members that this process inherited because their parents
// died, which happens if this process is the first one of a container.
func (g group) empty() bool {
	for {
		pid, err := syscall.Wait4(-g.id, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR || err == nil && pid > 0 {
			continue
		}
		break
	}
	if syscall.Kill(-g.id, 0) != nil {
		return true
	}
	//lint:ignore SA4000 a process that was just started may be missed the first time
	return !g.living() && !g.living()
}

// signalled returns an error that describes the signal that killed a process, or nil if no signal
// did.
func signalled(state *os.ProcessState) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return nil
	}
	if name, ok := signalNames[status.Signal()]; ok {
		return errors.New("killed by " + name)
	}
	return fmt.Errorf("killed by signal %d", status.Signal())
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT",
	syscall.SIGALRM: "SIGALRM",
	syscall.SIGBUS:  "SIGBUS",
	syscall.SIGFPE:  "SIGFPE",
	syscall.SIGHUP:  "SIGHUP",
	syscall.SIGILL:  "SIGILL",
	syscall.SIGINT:  "SIGINT",
	syscall.SIGKILL: "SIGKILL",
	syscall.SIGPIPE: "SIGPIPE",
	syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGSEGV: "SIGSEGV",
	syscall.SIGSYS:  "SIGSYS",
	syscall.SIGTERM: "SIGTERM",
	syscall.SIGTRAP: "SIGTRAP",
	syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGXCPU: "SIGXCPU",
	syscall.SIGXFSZ: "SIGXFSZ",
}

// readNow reads from a pipe without waiting. It returns 0 or less if the pipe is empty or at its
// end. In contrast to [os.File.Read] it ignores deadlines.
func readNow(f *os.File, b []byte) (n int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	conn.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), b)
		}
	})
	return n
}
