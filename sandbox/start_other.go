//go:build !linux

package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Main returns at once: this system has no launcher.
func Main() {}

func (s *Sandbox) start(cmd *exec.Cmd) (ended func(), err error) {
	if !s.o.Weaker {
		return nil, fmt.Errorf("%w: nothing is confined on %s", ErrUnconfined, runtime.GOOS)
	}
	return func() {}, cmd.Start()
}
