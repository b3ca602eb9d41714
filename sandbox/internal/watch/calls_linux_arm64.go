package watch

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	fstatat   = unix.SYS_FSTATAT
)

// table are the calls that are looked at: this architecture has none that is older than openat.
func table() map[int]call { return common() }
