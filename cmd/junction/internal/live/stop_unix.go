//go:build unix

package live

import (
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// stop stops the job until the shell continues it.
func stop() tea.Cmd { return tea.Exec(&stopping{}, nil) }

type stopping struct{ loan }

// Run implements [tea.ExecCommand]. If no shell could continue the job, for example in a container,
// the system does not stop it. In that case [tea.Suspend] would wait for ever. The pause has the
// same reason as in [loan.Run].
func (*stopping) Run() error {
	defer time.Sleep(framePause)
	return syscall.Kill(0, syscall.SIGTSTP)
}
