//go:build unix

package live

import (
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// stop stops the job that has the terminal, until the shell has it go on.
func stop() tea.Cmd { return tea.Exec(&stopping{}, nil) }

type stopping struct{ loan }

// Run implements [tea.ExecCommand]. Where no shell could have the job go on, such as in a container, the system stops nothing:
// [tea.Suspend] waits forever then. The pause is that of [loan.Run].
func (*stopping) Run() error {
	defer time.Sleep(framePause)
	return syscall.Kill(0, syscall.SIGTSTP)
}
