//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// group is a process group, named by its leader's process id. No other process
// is given that number while the group has a member, and nobody signals it any
// more once it was seen empty.
type group struct{ id int }

func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func groupOf(leader *os.Process) group { return group{id: leader.Pid} }

func (g group) terminate() { syscall.Kill(-g.id, syscall.SIGTERM) }

func (g group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// empty reports whether nobody is left who could be ended. It is asked only
// after the leader was reaped, and reaps those members whose parents died and
// who came to this process, as happens to the first process of a container.
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

// signalled returns how a process ended that a signal killed, or nil.
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

// readNow reads from a pipe without waiting; it returns 0 or less at the end or
// when there is nothing. Unlike a read of the file it heeds no deadline.
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
