package process

import (
	"os"
	"syscall"
)

// group stands for the child alone: without a job object, what it started
// cannot be found.
type group struct{ child *os.Process }

func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func groupOf(leader *os.Process) group { return group{child: leader} }

// terminate kills: there is no request to end that a process without a console
// window would receive.
func (g group) terminate() { g.child.Kill() }

func (g group) kill() { g.child.Kill() }

func (g group) empty() bool { return true }

// signalled returns nil: a process that was killed here has an exit status.
func signalled(*os.ProcessState) error { return nil }

// readNow returns 0: pipes have no deadlines here, so that nothing is left to
// read when reading is ended.
func readNow(*os.File, []byte) int { return 0 }
