package lines

import (
	"io"
	"os"
	"syscall"
)

// pipeRoom is the room of a pipe to a client. A list of hundreds of tools fits in, so that writing it takes one turn instead of four. The
// system lets a user have 64 MiB of room in all pipes.
const pipeRoom = 256 << 10

// widen gives w the room, where it is a pipe with less. Without it all works, but slower.
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
