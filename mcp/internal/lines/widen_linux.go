package lines

import (
	"io"
	"os"
	"syscall"
)

// pipeRoom is the capacity of a pipe to a client. A list of hundreds of tools fits in, so it is
// written in one turn instead of four. The system allows a user 64 MiB in all pipes.
const pipeRoom = 256 << 10

// widen sets the capacity of w if it is a smaller pipe. Errors only make writing slower.
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
