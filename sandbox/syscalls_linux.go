//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"maps"
	"slices"
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

// denied lists calls that servers do not need, and that affect other processes, the kernel or other
// namespaces.
var denied = []int{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	openTreeAttr, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// openTreeAttr is open_tree_attr of Linux 6.15. It has the same number on all architectures.
const openTreeAttr = 467

// newNamespaces holds the flags of clone that create namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// socketKind is the mask of a socket's kind, without its flags.
const socketKind = 0xf

// deniedBare lists calls that only namespaces can confine: those for shared memory, and those for
// owners, modes, times and attributes of files, which Landlock does not check.
var deniedBare = []int{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, setXattrAt, removeXattrAt, setFileAttr,
}

// modes maps calls that set a file's mode to the index of the argument with the mode.
var modes = map[int]uint32{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2}

// opens maps calls that may create a file to the index of the argument with the flags. The mode is
// in the next argument.
var opens = map[int]uint32{unix.SYS_OPENAT: 2}

// tmpFile holds the bits that O_TMPFILE has and O_DIRECTORY lacks.
const tmpFile = unix.O_TMPFILE &^ unix.O_DIRECTORY

func merge(all, here map[int]uint32) map[int]uint32 {
	both := maps.Clone(all)
	maps.Copy(both, here)
	return both
}

// processIO is IOPRIO_WHO_PROCESS, and setFileX is FS_IOC_FSSETXATTR.
const (
	processIO = 1
	setFileX  = 0x401c5820
)

// Numbers of calls that package unix does not define yet.
const (
	setXattrAt    = 463
	removeXattrAt = 466
	setFileAttr   = 469
)

var (
	allow  = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	no     = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	absent = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)} // ENOSYS, so that libraries use another call
)

// arg returns an instruction that loads argument n of a call.
func arg(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: dataArgs + 8*n, Size: 4} }

// refuseOthers adds rules that let a program limit only the calling thread.
func refuseOthers(on func(number int, body ...bpf.Instruction)) {
	for _, number := range []int{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER} {
		on(number, arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, no, allow)
	}
	for number, process := range map[int]uint32{unix.SYS_SETPRIORITY: unix.PRIO_PROCESS, unix.SYS_IOPRIO_SET: processIO} {
		on(number, arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: process, SkipFalse: 2}, arg(1), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, no, allow)
	}
}

// refuseSetuid adds rules that refuse the setuid bit for all files. Otherwise a program could leave
// a setuid program in a folder that outlives it. Any other user could start that program, and it
// would run unconfined as this user.
func refuseSetuid(on func(number int, body ...bpf.Instruction)) {
	for number, mode := range merge(modes, modesHere) {
		on(number, arg(mode), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.S_ISUID, SkipFalse: 1}, no, allow)
	}
	for number, flags := range merge(opens, opensHere) {
		on(number, arg(flags), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.O_CREAT | tmpFile, SkipFalse: 2}, // without these flags there is no mode
			arg(flags+1), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.S_ISUID, SkipTrue: 1}, allow, no)
	}
	on(unix.SYS_OPENAT2, absent) // its mode is in memory, which filters cannot read
}

// filter returns a filter that refuses the denied calls, and calls with denied arguments. bare is
// for a system without namespaces. It also refuses shared memory, and sockets with names in the
// file system, which Landlock refuses only from Linux 7 on. It also refuses limits for other
// processes, because a limit can end a process. offline refuses IPv4 and IPv6 sockets.
func filter(bare, offline bool) ([]bpf.RawInstruction, error) {
	f := []bpf.Instruction{
		// Other architectures use other call numbers.
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, absent,
		bpf.LoadAbsolute{Off: dataNumber, Size: 4},
	}
	// on adds the instructions for one call. They must end with a return, or leave the number in
	// the register.
	on := func(number int, body ...bpf.Instruction) {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(body))})
		f = append(f, body...)
	}
	if x32Bit != 0 {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: x32Bit, SkipTrue: 1}, absent)
	}
	on(unix.SYS_CLONE3, absent) // its flags are in memory, which filters cannot read
	on(unix.SYS_CLONE, arg(0), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespaces, SkipTrue: 1}, no, allow)
	controls, named, also := []uint32{unix.TIOCSTI, tioclinux, unix.TIOCSETD}, allow, []int(nil)
	if bare {
		controls, named, also = append(controls, unix.FS_IOC_SETFLAGS, setFileX, unix.FS_IOC_ENABLE_VERITY), no, slices.Concat(deniedBare, deniedBareHere)
		refuseOthers(on)
	}
	control := []bpf.Instruction{arg(1)}
	for i, request := range controls {
		control = append(control, bpf.JumpIf{Cond: bpf.JumpEqual, Val: request, SkipTrue: uint8(len(controls) - i)})
	}
	on(unix.SYS_IOCTL, append(control, allow, no)...)
	socket := []bpf.Instruction{
		arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketKind},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_PACKET, SkipFalse: 1}, no, bpf.TAX{},
		arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipFalse: 1}, named,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipFalse: 4},
		arg(2), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipFalse: 1}, allow, no,
	}
	if !offline {
		socket = append(socket,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipFalse: 3},
			bpf.TXA{}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_RAW, SkipTrue: 1}, allow)
	}
	on(unix.SYS_SOCKET, append(socket, no)...)
	pair := []bpf.Instruction{arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, no}
	if bare { // a datagram socket of a pair could also send to any name
		pair = append(pair, arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketKind},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1}, no)
	}
	on(unix.SYS_SOCKETPAIR, append(pair, allow)...)
	for _, number := range slices.Concat(denied, deniedHere, also) {
		on(number, no)
	}
	refuseSetuid(on)
	return bpf.Assemble(append(f, allow))
}

// restrictCalls refuses the denied calls, for this thread and its children. The thread must have
// set PR_SET_NO_NEW_PRIVS before.
func restrictCalls(bare, offline bool) error {
	raw, err := filter(bare, offline)
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
