package process

import (
	"os"
	"syscall"
)

// group holds only the child: without a job object its descendants cannot be found.
type group struct{ child *os.Process }

func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func groupOf(leader *os.Process) group { return group{child: leader} }

// terminate kills the child: a process without a console window receives no request to end.
func (g group) terminate() { g.child.Kill() }

func (g group) kill() { g.child.Kill() }

func (g group) empty() bool { return true }

// signalled returns nil: a killed process has an exit status on Windows.
func signalled(*os.ProcessState) error { return nil }

// readNow returns 0: pipes have no deadlines on Windows, so nothing is left when reading is ended.
func readNow(*os.File, []byte) int { return 0 }
