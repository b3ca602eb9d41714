//go:build unix

package launch

import "syscall"

// apart starts a process in a session of its own: no signal for this one reaches it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
