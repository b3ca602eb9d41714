package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxLossFolders is how many folders are looked after: those in a home folder that all programs share, and those that lead to what is shown.
const maxLossFolders = 64

// losses names what an unwatched program makes in the home folder that ends with it. The kernel says so (inotify) without having the
// program wait. It is the only refusal that is no error to a program.
type losses struct {
	events  *os.File
	fd      int // of events, whose own method would make it blocking
	files   *refusing
	home    int // the folder, which is there until this is closed
	folders map[int32]string
	done    chan struct{}
}

// newLosses returns nil where nothing is lost, or nobody can know.
func newLosses(r *refusing) *losses {
	home := r.placeOf(r.home)
	if r.home == "" || r.isBare || home == nil || home.Path != r.home || home.Kind != temporary {
		return nil
	}
	dir, err := unix.Openat2(r.root, r.home, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		unix.Close(dir)
		return nil
	}
	l := &losses{events: os.NewFile(uintptr(fd), "inotify"), fd: fd, files: r, home: dir, folders: map[int32]string{}, done: make(chan struct{})}
	l.follow(r.home)
	go func() {
		defer close(l.done)
		buf := make([]byte, 16<<10)
		for {
			n, err := l.events.Read(buf)
			if err != nil {
				return
			}
			l.see(buf[:n])
		}
	}()
	return l
}

// follow looks after a folder of the program's home.
func (l *losses) follow(path string) {
	if len(l.folders) >= maxLossFolders {
		return
	}
	below, err := filepath.Rel(l.files.home, path)
	if err != nil {
		return
	}
	fd, err := unix.Openat2(l.home, below, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	watch, err := unix.InotifyAddWatch(l.fd, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err != nil {
		return
	}
	l.folders[int32(watch)] = path
	for { // what was made before it was looked after
		names, err := dir.Readdirnames(100)
		for _, name := range names {
			l.made(filepath.Join(path, name))
		}
		if err != nil {
			return
		}
	}
}

// made is called with what there is in a folder that is looked after.
func (l *losses) made(path string) {
	leads := isShared(path, l.files.home)
	for i := range l.files.places {
		switch place := l.files.places[i].Path; {
		case place == path:
			return // what is shown there is not lost
		case within(place, path):
			leads = true
		}
	}
	switch {
	case leads:
		l.follow(path)
	case !strings.HasSuffix(path, "/__pycache__"):
		l.files.lose(path)
	}
}

// see reads events as inotify(7) describes them.
func (l *losses) see(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		watch := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		length := int(binary.NativeEndian.Uint32(events[12:]))
		events = events[unix.SizeofInotifyEvent:]
		if length > len(events) {
			return
		}
		name, _, _ := strings.Cut(string(events[:length]), "\x00")
		events = events[length:]
		switch folder, known := l.folders[watch]; {
		case mask&unix.IN_IGNORED != 0:
			delete(l.folders, watch)
		case known && name != "":
			l.made(filepath.Join(folder, name))
		}
	}
}

// close names what was made last, when the program has ended.
func (l *losses) close() {
	if l == nil {
		return
	}
	l.events.SetReadDeadline(time.Unix(1, 0))
	<-l.done
	buf := make([]byte, 16<<10)
	for { // the kernel keeps no more than 16,384 events
		n, err := unix.Read(l.fd, buf)
		if err != nil || n <= 0 {
			break
		}
		l.see(buf[:n])
	}
	l.events.Close()
	unix.Close(l.home)
}
