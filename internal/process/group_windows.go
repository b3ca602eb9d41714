package process

import (
	"os"
	"syscall"
)

// group contains only the child. Its descendants could be found only with a job object.
type group struct{ child *os.Process }

func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func groupOf(leader *os.Process) group { return group{child: leader} }

// terminate kills the child, because a process without a console window cannot receive a request to
// end.
func (g group) terminate() { g.child.Kill() }

func (g group) kill() { g.child.Kill() }

func (g group) empty() bool { return true }

// signalled returns nil, because a killed process has an exit status on Windows.
func signalled(*os.ProcessState) error { return nil }

// readNow returns 0. Pipes on Windows have no deadlines, so nothing remains to be read after the
// end of reading.
func readNow(*os.File, []byte) int { return 0 }
