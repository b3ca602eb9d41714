package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
	"golang.org/x/sys/unix"
)

// watched observes the accesses of a started program.
type watched struct {
	cancel context.CancelFunc
	done   chan struct{}
	files  *refusing
	losses *losses
	forget func() // removes it from the running programs
}

// scope returns the calls of a program to watch. While accesses are recorded, they include checks
// for existing files.
func (s *Sandbox) scope() watch.Scope {
	switch {
	case s.o.Record != nil:
		return watch.Looks
	case s.o.Unwatched:
		return watch.Connections
	}
	return watch.Opens
}

// watch reads the notifications about a launcher's processes until all of them have ended.
func (s *Sandbox) watch(listener *os.File, launcher int, o order, n *network, refuse func(Refusal)) *watched {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", launcher), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		root = -1 // then hidden files are not reported; without namespaces none are hidden
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &refusing{root: root, places: o.Places, home: home(), own: s.o.Package, dir: o.Dir, refuse: refuse, isBare: o.Bare, folders: map[string]int{}, named: map[string]bool{}, remote: automounted()}
	options := watch.Options{Skip: r.skip, See: r.see}
	if !o.Bare && n != nil {
		r.unreachable = &unreachable{launcher: launcher, ports: o.Ports, network: n}
	}
	if record := s.o.Record; record != nil {
		options = watch.Options{Skip: func(a watch.Access) bool { return isSkipped(a.Path) }, PerSecond: 1 << 30, See: func(a watch.Access) {
			record.see(a)
			n.learn(record, a, func(port uint16) bool { return listensIn(launcher, port) })
		}}
	}
	if s.o.Record == nil {
		r.nameWords(o)
	}
	m := &mentions{r.mentioned}
	s.mu.Lock()
	if s.running == nil {
		s.running = map[*mentions]struct{}{}
	}
	s.running[m] = struct{}{}
	s.mu.Unlock()
	w := &watched{cancel: cancel, done: make(chan struct{}), files: r, forget: func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, m)
	}}
	if o.Scope == watch.Connections {
		w.losses = newLosses(r)
	}
	watcher := watch.New(listener, options)
	go func() {
		defer close(w.done)
		watcher.Run(ctx) // returns when the program has ended; after an error, refusals are not reported
	}()
	return w
}

// sendListener sends the parent a listener for the program's accesses, if this system supports it.
func (o *order) sendListener(control channel) error {
	var files []*os.File
	listener, err := watch.Install(o.Scope)
	if err == nil { // fails if there is another listener or the system does not support it; then refusals are not reported
		files = append(files, os.NewFile(uintptr(listener), "listener"))
	}
	if err := control.send(report{Step: "watch"}, files); err != nil {
		return err
	}
	_, _, err = control.receive() // waits until the parent watches
	return err
}

// close waits until the program is no longer observed.
func (w *watched) close() {
	if w == nil {
		return
	}
	w.cancel()
	<-w.done
	w.losses.close()
	w.forget()
	w.files.close()
}

// isSkipped reports whether an access to a path need not be examined. It runs for each call, so it
// checks only the most used folders of isSystemPath. Other folders are checked later.
func isSkipped(path string) bool {
	for _, dir := range []string{"/usr/", "/lib/", "/lib64/", "/proc/", "/dev/", "/sys/"} {
		if strings.HasPrefix(path, dir) && !strings.HasPrefix(path, "/dev/shm") {
			return true
		}
	}
	return false
}

// maxRefusedOfFolder is the number of refusals that are reported for files in a folder before the
// folder itself is reported.
const maxRefusedOfFolder = 3

// refusing determines which accesses the sandbox refuses. It only reports them; the kernel enforces
// them.
type refusing struct {
	mu      sync.Mutex // while it is held, watched calls wait
	root    int        // descriptor of the program's root folder; negative if it could not be opened
	places  []place    // places of the view, outer ones first
	home    string
	own     []string // folders of the program's package
	dir     string   // the program's working directory, which is always accessed
	isBare  bool     // the program sees all files, but can open only permitted ones
	refuse  func(Refusal)
	folders map[string]int  // number of refusals by verb and folder
	named   map[string]bool // reported refusals by verb and path
	words   []string        // paths in the program's command line and its own variables
	remote  []string        // folders in which looking up a name mounts a file system

	unreachable *unreachable // reports refused connections; nil without namespaces
}

func (r *refusing) skip(a watch.Access) bool {
	if a.Path == "" {
		return a.Kind != watch.Connect || a.Address == "" || r.unreachable == nil
	}
	return a.Kind == watch.Look && a.Path == r.dir || a.Kind == watch.Listen || isSkipped(a.Path) || r.isRemote(a.Path) || strings.Contains(a.Path, "/__pycache__") // Python checks these paths, but works without them
}

// isRemote reports whether looking up a path could mount a file system, also through links that the
// program may have made. The user's home folder is excluded, because it is already mounted.
func (r *refusing) isRemote(path string) bool {
	if len(r.remote) == 0 {
		return false
	}
	for range hops {
		if isWithinAny(path, r.remote) && (r.home == "" || !isWithin(path, r.home)) {
			return true
		}
		followed, hop, _, err := firstLink(path)
		if err != nil || hop == "" {
			return false
		}
		path = followed
	}
	return true
}

// nameWords reports the paths in the program's command line and its own variables that the program
// does not see. A program that only checks for such a folder, and gives up, opens nothing that
// would be reported.
func (r *refusing) nameWords(o order) {
	l := Learned{Dir: o.Dir}
	if len(o.Argv) > 1 {
		l.Words = slices.Clone(o.Argv[1:])
	}
	inherited := os.Environ()
	for _, pair := range o.Env {
		if name, value, _ := strings.Cut(pair, "="); !slices.Contains(harmless, name) && name != "TMPDIR" && name != "PWD" && !slices.Contains(inherited, pair) {
			l.Words = append(l.Words, value)
		}
	}
	r.words = (&proposing{home: r.home}).inWords(l)
	for _, path := range r.words {
		real, err := filepath.EvalSymlinks(path)
		if p := r.placeOf(real); err == nil && path != "/" && (p == nil || p.Kind == temporary && real != p.Path) {
			r.say(false, "read", path, "its command line or environment names it")
		}
	}
}

// see is called before the program's access.
func (r *refusing) see(a watch.Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Path == "" {
		r.unreachable.see(a)
		return
	}
	if a.Kind != watch.Write && a.Kind != watch.Change {
		if r.isBare && a.Kind == watch.Look {
			return
		}
		if r.isHidden(a.Path) {
			r.say(a.Kind == watch.Connect, "read", a.Path, "it is not in its profile")
		}
		return
	}
	path := a.Path
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	p := r.placeOf(path)
	switch {
	case p != nil && p.Kind == temporary && p.Path == r.home && !r.isBare:
		if !isShared(path, r.home) {
			r.say(true, keeps, a.Path, homeEnds)
		}
	case p != nil && p.Kind != shown && (!r.isBare || p.Kind != temporary):
	case exists(filepath.Dir(path)):
		r.say(true, "write", a.Path, "it is not in its profile")
	}
}

// mentioned reports a path from a failed request, if the program does not see it or could not write
// it.
func (r *refusing) mentioned(path string, isReadOnly bool) {
	if isSkipped(path) || r.isRemote(path) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	there := path
	if dir := filepath.Dir(path); !exists(path) && dir != "/" { // the file was to be created, so check its folder
		there = dir
	}
	p := r.placeOf(there)
	switch {
	case !exists(there) || r.isNamed("read", path) || r.isNamed("write", path):
	case r.isHidden(there):
		r.say(there != path, "see", path, "a request that failed names it")
	case isReadOnly && p != nil && p.Kind == shown:
		r.say(true, "write", path, "it is not in its profile")
	}
}

// keeps is the verb of a Refusal about lost data.
const keeps = "keep what it writes to"

const homeEnds = "its home folder is temporary, and is deleted when the program ends"

// lose reports a file that the program made in its temporary home folder.
func (r *refusing) lose(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(true, keeps, path, homeEnds)
}

// close releases the root folder after the program has ended.
func (r *refusing) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root >= 0 {
		unix.Close(r.root)
	}
	r.root = -1
}

// isHidden reports whether the machine has a file that the program does not see.
func (r *refusing) isHidden(path string) bool {
	if r.isBare {
		real, err := filepath.EvalSymlinks(path)
		p := r.placeOf(real)
		return err == nil && (p == nil || p.Kind == temporary)
	}
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	err := r.lookUp(path)
	// After its last process has ended, the program's file system is gone. /proc/1 exists while any
	// process runs.
	return (err == unix.ENOENT || err == unix.EACCES || err == unix.ENOTDIR) && r.lookUp("/proc/1") == nil
}

// lookUp returns an error if the program does not see the path.
func (r *refusing) lookUp(path string) error {
	fd, err := unix.Openat2(r.root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// placeOf returns the innermost place that contains a path, or nil for the root.
func (r *refusing) placeOf(path string) (p *place) {
	for i := range r.places {
		if isWithin(path, r.places[i].Path) {
			p = &r.places[i]
		}
	}
	return p
}

// isNamed reports whether a path, or a folder that contains it, was already reported.
func (r *refusing) isNamed(verb, path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		if r.named[verb+" "+dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func (r *refusing) say(writes bool, verb, path, reason string) {
	if r.isNamed(verb, path) {
		return
	}
	key := verb + " " + filepath.Dir(path)
	if len(r.folders) >= maxRefusals && r.folders[key] == 0 {
		return
	}
	r.folders[key]++
	switch n := r.folders[key]; {
	case n == maxRefusedOfFolder+1 && !isShared(filepath.Dir(path), r.home):
		path = filepath.Dir(path)
		reason += ", nor is much else in this folder"
	case n > maxRefusedOfFolder && n <= 10*maxRefusedOfFolder && isShared(filepath.Dir(path), r.home): // report each file, because the folder is shared
	case n > maxRefusedOfFolder:
		return
	}
	r.named[verb+" "+path] = true
	flag := "--read"
	if writes {
		flag = "--write"
	}
	allow := path
	if dir := filepath.Dir(path); writes && !exists(path) && !isShared(dir, r.home) {
		allow = dir // the program creates a file in the folder, often under a temporary name first
	}
	file := ""
	if writes {
		if file = r.fileOf(path); file != "" {
			r.named[verb+" "+file] = true // the permission for this file alone would not suffice
		}
	}
	refusal := Refusal{What: verb + " " + quoteName(path), Reason: reason, Allow: []string{flag, allow}, Lost: verb == keeps}
	switch { // a path that the program only tried, or that a text mentions, is not a reason to suggest a permission
	case writes && isWithinAny(path, r.own):
		refusal.Reason, refusal.Allow = ofPackage, nil
	case isWithinAny(path, junctionPlaces()):
		refusal.Reason, refusal.Allow = ofJunction, nil
	case allow != path && inSecret(path):
		refusal.Reason, refusal.Allow = ofSecrets, nil
	case file != "" && allow == path:
		refusal.Reason, refusal.Allow = "it comes and goes next to "+quoteName(file)+", for which the program must write into their folder, and others use that: give "+
			quoteName(filepath.Base(file))+" a folder of its own, and allow that with --write", nil
	}
	r.refuse(refusal)
}

// fileOf returns the file to which a temporary file belongs, or "". Examples are notes.db-journal,
// and notes.db.4711.tmp, which will replace notes.db. The program must be allowed to write the
// file, or its command line or variables must name it.
func (r *refusing) fileOf(path string) string {
	belongs := func(file string) bool {
		name, found := strings.CutPrefix(path, file)
		if !found || name == "" || !strings.ContainsRune("-.~", rune(name[0])) || strings.ContainsRune(name, '/') {
			return false
		}
		info, err := os.Stat(file)
		return err != nil || !info.IsDir()
	}
	for _, p := range r.places {
		if p.Kind == writable && belongs(p.Path) {
			return p.Path
		}
	}
	if at := slices.IndexFunc(r.words, belongs); at >= 0 {
		return r.words[at]
	}
	return ""
}

// maxLossFolders is the maximum number of watched folders. These are folders in the home folder
// that all programs share, and those above shown paths.
const maxLossFolders = 64

// losses reports files that an unwatched program makes in its temporary home folder. It uses the
// kernel's events (inotify), which do not delay the program. For these accesses the program gets no
// error.
type losses struct {
	events  *os.File
	fd      int // descriptor of events; calling its Fd method would make it blocking
	files   *refusing
	home    int // descriptor of the home folder, which keeps the folder alive
	folders map[int32]string
	done    chan struct{}
}

// newLosses returns nil if no data can be lost, or if losses cannot be detected.
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

// follow starts watching a folder in the program's home folder.
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
	for { // files that existed before the watch
		names, err := dir.Readdirnames(100)
		for _, name := range names {
			l.made(filepath.Join(path, name))
		}
		if err != nil {
			return
		}
	}
}

// made handles a new entry in a watched folder.
func (l *losses) made(path string) {
	leads := isShared(path, l.files.home)
	for i := range l.files.places {
		switch place := l.files.places[i].Path; {
		case place == path:
			return // a path of the machine, where nothing is lost
		case isWithin(place, path):
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

// see handles a buffer of events; see inotify(7).
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

// close reports the last files after the program has ended.
func (l *losses) close() {
	if l == nil {
		return
	}
	l.events.SetReadDeadline(time.Unix(1, 0))
	<-l.done
	buf := make([]byte, 16<<10)
	for { // ends, because the kernel keeps at most 16,384 events
		n, err := unix.Read(l.fd, buf)
		if err != nil || n <= 0 {
			break
		}
		l.see(buf[:n])
	}
	l.events.Close()
	unix.Close(l.home)
}
