//go:build amd64 || arm64

package watch

import (
	"fmt"
	"maps"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets of struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// asks reports whether the scope includes a call.
func (s Scope) asks(c call) bool {
	switch kind := c.names[0].kind; s {
	case Connections:
		return kind == Connect
	case Opens:
		return kind != Look && kind != Listen
	}
	return true
}

// filter returns a filter that notifies the listener of the calls in the scope, and allows all
// others. It does not watch calls with the numbers of another architecture, such as those of 32-bit
// programs.
func filter(scope Scope) ([]bpf.RawInstruction, error) {
	asked := table()
	maps.DeleteFunc(asked, func(_ int, c call) bool { return !scope.asks(c) })
	length := 3 + len(asked) + 2
	for _, c := range asked {
		if c.flags != 0 {
			length += 2
		}
	}
	f := make([]bpf.Instruction, 0, length)
	allow := func() uint8 { return uint8(length - 2 - len(f) - 1) }
	ask := func() uint8 { return uint8(length - 1 - len(f) - 1) }
	f = append(f, bpf.LoadAbsolute{Off: dataArch, Size: 4})
	f = append(f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: auditArch, SkipTrue: allow()})
	f = append(f, bpf.LoadAbsolute{Off: dataNumber, Size: 4})
	for number, c := range asked {
		if c.flags == 0 {
			f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(number), SkipTrue: ask()})
			continue
		}
		// With AT_EMPTY_PATH the call is about an open file, like the frequent call fstat, and is
		// allowed.
		f = append(f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: 2})
		f = append(f, bpf.LoadAbsolute{Off: dataArgs + 8*uint32(c.flags), Size: 4})
		f = append(f, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.AT_EMPTY_PATH, SkipTrue: allow(), SkipFalse: ask()})
	}
	return bpf.Assemble(append(f, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}))
}

// Install makes the kernel notify a listener of the calls in the scope, by the calling thread and
// its children. The thread must be locked, and must not be able to gain privileges
// (PR_SET_NO_NEW_PRIVS). From then on these calls wait until a Watcher runs at the listener. They
// fail with ENOSYS after the last copy of the listener is closed.
func Install(scope Scope) (listener int, err error) {
	raw, err := filter(scope)
	if err != nil {
		return -1, err
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, errno := install(flags, &program)
	if errno == unix.EINVAL { // before Linux 5.19, where a signal restarts the call
		fd, errno = install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)
	}
	if errno != 0 {
		return -1, fmt.Errorf("seccomp user notification: %w", errno)
	}
	return fd, nil
}

func install(flags uintptr, program *unix.SockFprog) (int, unix.Errno) {
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(program)))
	return int(fd), errno
}
