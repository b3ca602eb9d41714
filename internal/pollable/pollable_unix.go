//go:build unix

package pollable

import (
	"os"
	"syscall"
	"time"
)

// File returns a file for the same open pipe or socket as f that the runtime's
// poller waits for: reads and writes that wait hold no thread, and deadlines
// work. In every other case it returns f itself: for a terminal, a regular file
// or a device, for a file that the poller waits for already, where the system
// cannot wait for it, and on systems without such a mode.
//
// The file that is returned in place of f has a descriptor of its own, which is
// not inherited by child processes: closing it does not close f, and the other
// end of a pipe sees the end only when both are closed. A write to a pipe that
// nobody reads is an error (EPIPE) and no signal, also when f is os.Stdout.
//
// From then on f itself must not be read from or written to until [Restore]: it
// would get EAGAIN where it waited before. The same holds for every descriptor
// that shares the open file description, such as standard error when it was
// redirected to standard output, and for other processes that inherited it.
//
// A deadline that was set on f is cleared.
func File(f *os.File) *os.File {
	if !convertible(f) {
		return f
	}
	fd, err := duplicate(f)
	if err != nil {
		return f
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return f
	}
	g := os.NewFile(uintptr(fd), f.Name())
	if !polled(g) {
		syscall.SetNonblock(fd, false)
		g.Close()
		return f
	}
	return g
}

// Restore puts the pipe or socket of f, a file that was given to [File], back
// into blocking mode, as other processes that share it may expect. Call it when
// nobody uses the file that File returned any more. It does nothing for a file
// that File leaves alone.
func Restore(f *os.File) error {
	if !convertible(f) {
		return nil
	}
	var failed error
	if err := control(f, func(fd int) { failed = syscall.SetNonblock(fd, false) }); err != nil {
		return err
	}
	return os.NewSyscallError("fcntl", failed)
}

// convertible reports whether f is a pipe or socket that the poller does not
// wait for yet.
func convertible(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	return canWait(info) && !polled(f)
}

// polled reports whether the poller waits for f: only then can a deadline be
// set.
func polled(f *os.File) bool { return f.SetDeadline(time.Time{}) == nil }

// duplicate returns a second descriptor for what f has open, not inherited by
// children.
func duplicate(f *os.File) (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var failed error
	if err := control(f, func(old int) { fd, failed = syscall.Dup(old) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	syscall.CloseOnExec(fd)
	return fd, nil
}

// control calls do with the descriptor of f, without the change of mode that
// [os.File.Fd] makes.
func control(f *os.File, do func(fd int)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}
