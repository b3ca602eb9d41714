package sandbox

import (
	"fmt"
	"os"
	"os/exec"
)

// sandboxExec is part of every macOS, on a signed read-only volume.
const sandboxExec = "/usr/bin/sandbox-exec"

// Main must be called at the start of the main function of a program that calls [Sandbox.Start].
// Start runs the same program again. In that process Main confines the process, starts the server
// in it, and does not return. Otherwise Main returns at once.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == seatbeltLauncher {
		fmt.Fprintln(os.Stderr, "junction: sandbox:", launchSeatbelt())
		os.Exit(125)
	}
}

func (s *Sandbox) start(cmd *exec.Cmd) (ended func(), err error) {
	return s.startSeatbelt(cmd, sandboxExec)
}

// Available returns the parts of the confinement that work on this system.
func Available() State {
	var state State
	missing := ""
	if !exists(sandboxExec) {
		missing = sandboxExec + " is missing"
	}
	state.set(partFiles, missing)
	state.set(partNetwork, missing)
	for part, reason := range map[string]string{
		partHosts:     "only of programs that use the proxy which HTTPS_PROXY names; others reach none",
		partProcesses: "their names can be read",
		partCalls:     "macOS has no filter of them",
		partMemory:    "macOS does not limit it",
		partNumber:    "macOS does not limit it",
		partCPU:       "macOS does not limit it",
	} {
		if missing != "" {
			reason = missing
		}
		state.set(part, reason)
	}
	return state
}
