package watch

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	fstatat   = unix.SYS_FSTATAT
)

// table returns the calls to watch. This architecture has no older calls without a folder argument.
func table() map[int]call { return common() }
