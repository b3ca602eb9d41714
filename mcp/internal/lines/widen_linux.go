package lines

import (
	"io"
	"os"
	"syscall"
)

// pipeRoom is the capacity of a pipe to a client. A list of hundreds of tools fits into it, so it
// is written with one call instead of four. Linux allows each user 64 MiB in all pipes.
const pipeRoom = 256 << 10

// widen sets the capacity of w to pipeRoom if w is a pipe with less. It ignores errors, which only
// make writing slower.
func widen(w io.Writer) {
	f, is := w.(*os.File)
	if !is {
		return
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		if has, _, fault := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETPIPE_SZ, 0); fault == 0 && has < pipeRoom {
			syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETPIPE_SZ, pipeRoom)
		}
	})
}
