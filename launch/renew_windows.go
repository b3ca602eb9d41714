package launch

import "syscall"

// detachedProcess is DETACHED_PROCESS of the Windows API, which starts a process without a console.
const detachedProcess = 0x8

// apart returns the attributes of a process with its own console. Such a process gets no signals
// that are sent to this process.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
