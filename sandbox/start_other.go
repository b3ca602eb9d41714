//go:build !linux && !darwin

package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Main returns at once, because this system has no launcher.
func Main() {}

func (s *Sandbox) start(cmd *exec.Cmd) (ended func(), err error) {
	if !s.o.Weaker {
		return nil, fmt.Errorf("%w: nothing is confined on %s", ErrUnconfined, runtime.GOOS)
	}
	return func() {}, cmd.Start()
}

// Available returns a State in which nothing is confined.
func Available() State {
	var state State
	for _, part := range []string{partFiles, partNetwork, partHosts, partProcesses, partCalls, partMemory, partNumber, partCPU} {
		state.set(part, "junction has no sandbox for "+runtime.GOOS)
	}
	return state
}
