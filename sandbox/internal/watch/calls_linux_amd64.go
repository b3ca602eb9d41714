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
		unix.SYS_OPEN:     {names: [2]name{inCurrentFolder(Read, 0)}, open: inSecond},
		unix.SYS_CREAT:    {names: [2]name{inCurrentFolder(Read, 0)}, open: isCreated},
		unix.SYS_STAT:     one(inCurrentFolder(Look, 0)),
		unix.SYS_LSTAT:    one(inCurrentFolder(Look, 0)),
		unix.SYS_ACCESS:   one(inCurrentFolder(Look, 0)),
		unix.SYS_READLINK: one(inCurrentFolder(Look, 0)),
		unix.SYS_UNLINK:   one(inCurrentFolder(Change, 0)),
		unix.SYS_RMDIR:    one(inCurrentFolder(Change, 0)),
		unix.SYS_MKDIR:    one(inCurrentFolder(Change, 0)),
		unix.SYS_MKNOD:    one(inCurrentFolder(Change, 0)),
		unix.SYS_SYMLINK:  one(inCurrentFolder(Change, 1)),
		unix.SYS_LINK:     two(inCurrentFolder(Read, 0), inCurrentFolder(Change, 1)),
		unix.SYS_RENAME:   two(inCurrentFolder(Change, 0), inCurrentFolder(Change, 1)),
		unix.SYS_CHMOD:    one(inCurrentFolder(Write, 0)),
		unix.SYS_CHOWN:    one(inCurrentFolder(Write, 0)),
		unix.SYS_LCHOWN:   one(inCurrentFolder(Write, 0)),
		unix.SYS_UTIME:    one(inCurrentFolder(Write, 0)),
		unix.SYS_UTIMES:   one(inCurrentFolder(Write, 0)),
	})
	return t
}
