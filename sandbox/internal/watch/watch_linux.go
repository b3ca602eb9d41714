//go:build amd64 || arm64

package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	// the following fields are struct seccomp_data
	number  int32
	arch    uint32
	pointer uint64
	args    [6]uint64
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// A Watcher reads notifications from the kernel's listener and reports the accesses of programs.
type Watcher struct {
	listener *os.File
	o        Options
	calls    map[int]call
	missed   atomic.Uint64

	// The following fields are used only by Run.
	seed   maphash.Seed
	seen   map[uint64]struct{}
	second time.Time // start of the current second
	looked int       // number of calls examined in the current second
	buf    [maxPath]byte
}

// New returns a Watcher for the programs at a listener. Run closes the listener.
func New(listener *os.File, o Options) *Watcher {
	if o.PerSecond == 0 {
		o.PerSecond = maxPerSecond
	}
	if o.Remembered == 0 {
		o.Remembered = maxRemembered
	}
	if o.Skip == nil {
		o.Skip = func(Access) bool { return false }
	}
	return &Watcher{listener: listener, o: o, calls: table(), seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// Missed returns the number of calls that were not examined, because there were too many in a
// second or the memory of a process could not be read.
func (w *Watcher) Missed() uint64 { return w.missed.Load() }

// Run reports calls and lets them continue, until all watched programs have ended or ctx is done.
// Programs that still run after that cannot open files.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.listener.Close()
	woken, wake, err := os.Pipe()
	if err != nil {
		return err
	}
	defer woken.Close()
	defer wake.Close()
	stop := context.AfterFunc(ctx, func() { wake.Write([]byte{0}) })
	defer stop()
	// Fd makes the file blocking. That is intended, because waiting in the kernel is fastest for a
	// single call.
	listener := int(w.listener.Fd())
	// Since Linux 6.6 the caller and the Watcher can alternate on one core. On a busy machine an
	// open then takes 14 µs instead of 17.
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	polled := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(woken.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(polled, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("waiting for the calls of a watched program: %w", err)
		case polled[1].Revents != 0:
			return context.Cause(ctx)
		case polled[0].Revents&unix.POLLIN != 0:
			if err := w.next(listener); err != nil {
				return err
			}
		case polled[0].Revents != 0: // POLLHUP also means that all watched programs have ended
			return nil
		}
	}
}

// next receives a call, examines it, reports it and lets it continue. It reports first, because the
// program may end with the call, and the data needed to interpret the access would be lost.
func (w *Watcher) next(listener int) error {
	var n notification
	if errno := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
		if errno == unix.ENOENT || errno == unix.EINTR { // the calling process was killed
			return nil
		}
		return fmt.Errorf("taking a call of a watched program: %w", errno)
	}
	var accesses [2]Access
	count := 0
	if now := time.Now(); now.Sub(w.second) >= time.Second {
		w.second, w.looked = now, 0
	}
	w.looked++
	if w.looked <= w.o.PerSecond {
		count = w.look(listener, &n, &accesses)
	} else {
		w.missed.Add(1)
	}
	for _, a := range accesses[:count] {
		w.o.See(a)
	}
	r := reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if errno := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); errno != 0 && errno != unix.ENOENT && errno != unix.EINPROGRESS {
		return fmt.Errorf("letting a call of a watched program go on: %w", errno)
	}
	return nil
}

// look determines the accesses of a call, and returns the number of those not reported before.
func (w *Watcher) look(listener int, n *notification, accesses *[2]Access) int {
	c := w.calls[int(n.number)]
	count := 0
	for _, name := range c.names {
		if !name.used {
			break
		}
		a := Access{Kind: name.kind}
		var err error
		if c.address {
			err = w.address(n, &a)
		} else {
			err = w.file(n, c, name, &a)
		}
		if errors.Is(err, errUnnamed) || err == nil && (w.o.Skip(a) || w.wasReported(a)) {
			continue
		}
		if err != nil {
			w.missed.Add(1)
			continue
		}
		accesses[count] = a
		count++
	}
	if count == 0 {
		return 0
	}
	// The process may have been killed, and its id reused by the process whose memory was read.
	if errno := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)); errno != 0 {
		return 0
	}
	for _, a := range accesses[:count] {
		if len(w.seen) >= w.o.Remembered { // cheaper than finding the oldest; some accesses are then reported again
			clear(w.seen)
		}
		w.seen[maphash.Comparable(w.seed, a)] = struct{}{}
	}
	return count
}

// errUnnamed reports that a call names neither a file nor an address.
var errUnnamed = errors.New("names nothing")

// file determines the path in a call.
func (w *Watcher) file(n *notification, c call, at name, a *Access) error {
	text, err := w.text(n.pid, n.args[at.path])
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return errUnnamed // the call fails with ENOENT, or is about an open file
	}
	path := string(text)
	if c.open != noOpen {
		if a.Kind, err = w.openKind(n, c.open); err != nil {
			return err
		}
	}
	if path[0] != '/' {
		dir, err := os.Readlink(folder(n, at))
		if err != nil {
			return err
		}
		if dir == "" || dir[0] != '/' {
			return errUnnamed // the descriptor is a pipe or another file, not a folder
		}
		path = dir + "/" + path
	}
	a.Path = filepath.Clean(path)
	return nil
}

// folder returns the link in /proc to the folder to which a path is relative.
func folder(n *notification, at name) string {
	process := "/proc/" + strconv.FormatUint(uint64(n.pid), 10)
	if at.dir < 0 || int32(n.args[at.dir]) == unix.AT_FDCWD {
		return process + "/cwd"
	}
	return process + "/fd/" + strconv.FormatInt(int64(int32(n.args[at.dir])), 10)
}

func (w *Watcher) openKind(n *notification, where openFlags) (Kind, error) {
	var flags uint64
	switch where {
	case inSecond:
		flags = n.args[1]
	case inThird:
		flags = n.args[2]
	case isCreated:
		flags = unix.O_CREAT
	case inTheHow:
		b, err := w.memory(n.pid, n.args[2], 8)
		if err != nil {
			return 0, err
		}
		flags = binary.NativeEndian.Uint64(b)
	}
	switch {
	case flags&unix.O_PATH != 0:
		return Look, nil
	case flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0:
		return Write, nil
	}
	return Read, nil
}

// address determines the address in a struct sockaddr.
func (w *Watcher) address(n *notification, a *Access) error {
	length := min(n.args[2], unix.SizeofSockaddrUnix)
	if length < 2 {
		return errUnnamed
	}
	b, err := w.memory(n.pid, n.args[1], int(length))
	if err != nil {
		return err
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_UNIX && len(b) > 2 && b[2] != 0: // other Unix sockets have no file
		path, _, _ := bytes.Cut(b[2:], []byte{0})
		a.Path = string(path)
		if path[0] != '/' {
			dir, err := os.Readlink(folder(n, name{dir: -1}))
			if err != nil {
				return err
			}
			if dir == "" || dir[0] != '/' {
				return errUnnamed
			}
			a.Path = dir + "/" + a.Path
		}
		a.Path = filepath.Clean(a.Path)
	case family == unix.AF_INET && len(b) >= unix.SizeofSockaddrInet4:
		ip := netip.AddrFrom4([4]byte(b[4:8]))
		a.Address = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[2:])).String()
	case family == unix.AF_INET6 && len(b) >= unix.SizeofSockaddrInet6:
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		a.Address = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(b[2:])).String()
	default:
		return errUnnamed
	}
	return nil
}

// text reads a path up to its zero byte. It reads page by page, because the next page may not be
// mapped.
func (w *Watcher) text(pid uint32, at uint64) ([]byte, error) {
	page := uint64(os.Getpagesize())
	for n := 0; n < maxPath; {
		length := min(int(page-(at+uint64(n))%page), maxPath-n)
		b, err := w.read(pid, at+uint64(n), w.buf[n:n+length])
		if err != nil {
			return nil, err
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return w.buf[:n+i], nil
		}
		n += len(b)
	}
	return nil, errUnnamed // the kernel also refuses a path of this length
}

func (w *Watcher) memory(pid uint32, at uint64, length int) ([]byte, error) {
	b, err := w.read(pid, at, w.buf[:length])
	if err == nil && len(b) < length {
		err = unix.EFAULT
	}
	return b, err
}

func (w *Watcher) read(pid uint32, at uint64, b []byte) ([]byte, error) {
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	remote := unix.RemoteIovec{Base: uintptr(at), Len: len(b)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno == unix.EFAULT {
		return nil, errUnnamed // the kernel also refuses the call
	}
	if errno != 0 || n == 0 {
		return nil, fmt.Errorf("reading the memory of a watched program: %w", errno)
	}
	return b[:n], nil
}

// wasReported reports whether an access was reported before.
func (w *Watcher) wasReported(a Access) bool {
	_, ok := w.seen[maphash.Comparable(w.seed, a)]
	return ok
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}
