package watch

import "maps"

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	fstatat   = unix.SYS_NEWFSTATAT
)

// table returns the calls to watch: the common ones, and the older calls without a folder argument.
func table() map[int]call {
	t := common()
	maps.Copy(t, map[int]call{
		unix.SYS_OPEN:     {names: [2]name{here(Read, 0)}, open: inSecond},
		unix.SYS_CREAT:    {names: [2]name{here(Read, 0)}, open: isCreated},
		unix.SYS_STAT:     one(here(Look, 0)),
		unix.SYS_LSTAT:    one(here(Look, 0)),
		unix.SYS_ACCESS:   one(here(Look, 0)),
		unix.SYS_READLINK: one(here(Look, 0)),
		unix.SYS_UNLINK:   one(here(Change, 0)),
		unix.SYS_RMDIR:    one(here(Change, 0)),
		unix.SYS_MKDIR:    one(here(Change, 0)),
		unix.SYS_MKNOD:    one(here(Change, 0)),
		unix.SYS_SYMLINK:  one(here(Change, 1)),
		unix.SYS_LINK:     two(here(Read, 0), here(Change, 1)),
		unix.SYS_RENAME:   two(here(Change, 0), here(Change, 1)),
		unix.SYS_CHMOD:    one(here(Write, 0)),
		unix.SYS_CHOWN:    one(here(Write, 0)),
		unix.SYS_LCHOWN:   one(here(Write, 0)),
		unix.SYS_UTIME:    one(here(Write, 0)),
		unix.SYS_UTIMES:   one(here(Write, 0)),
	})
	return t
}
