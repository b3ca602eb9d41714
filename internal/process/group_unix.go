//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// group is a process group, identified by its leader's process id. No other process gets that
// number while the group has a member. The group is not signalled any more once it was found empty.
type group struct{ id int }

func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func groupOf(leader *os.Process) group { return group{id: leader.Pid} }

func (g group) terminate() { syscall.Kill(-g.id, syscall.SIGTERM) }

func (g group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// empty reports whether the group has no process left to end. It must be called only after the
// leader was reaped. It reaps members whose parents died and that this process inherited, as the
// first process of a container does.
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
	//lint:ignore SA4000 twice: one that was just born may be missed
	return !g.living() && !g.living()
}

// signalled returns an error for a process that was killed by a signal, or nil.
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

// readNow reads from a pipe without waiting. It returns 0 or less at the end or without input.
// Unlike a read of the file it ignores deadlines.
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
