//go:build unix

package launch

import "syscall"

// apart returns the attributes for a process in its own session, which gets no signals that are
// sent to this process.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
