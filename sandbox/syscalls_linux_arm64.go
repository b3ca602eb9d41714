package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0
	tioclinux = 0x541c
)

// deniedHere lists denied calls that only this architecture has.
var deniedHere = []int{unix.SYS_NFSSERVCTL}

var deniedBareHere []int

var modesHere, opensHere map[int]uint32
