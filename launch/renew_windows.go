package launch

import "syscall"

// detachedProcess is DETACHED_PROCESS of the Windows API: without a console.
const detachedProcess = 0x8

// apart starts a process without the console of this one: no signal for this one reaches it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
