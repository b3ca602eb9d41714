package sandbox

import (
	"bufio"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// proposing holds the state while a Proposal is made.
type proposing struct {
	home       string
	packages   []string
	temporary  []string
	secret     []string // paths with keys, logins and histories
	junction   []string // paths with Junction's own data
	namedPaths []string // folders and files named in the command line, the longest first
	kept       []string // named paths in temporary folders; the program needs those of the machine
	read       map[string]bool
	write      map[string]bool
	omitted    map[string]Omission
}

// Propose returns a profile for the recorded accesses. It examines the accessed files to decide
// which folders to allow as a whole.
func (r *Record) Propose(l Learned) Proposal {
	return r.propose(l, temporaryFolders())
}

func (r *Record) propose(l Learned, temporary []string) Proposal {
	r.mu.Lock()
	files, hosts, own := maps.Clone(r.files), slices.Sorted(maps.Keys(r.hosts)), r.own
	r.mu.Unlock()
	p := &proposing{home: home(), temporary: temporary, secret: secretPlaces(), junction: junctionPlaces(), read: map[string]bool{}, write: map[string]bool{}, omitted: map[string]Omission{}}
	for _, dir := range own {
		p.packages = append(p.packages, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			p.packages = append(p.packages, real)
		}
	}
	p.namedPaths, p.kept = p.named(l), p.inTemporary(l)
	for path, u := range files {
		p.use(path, u)
		// A link in an allowed folder can lead out of it, so its target is allowed, too.
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			p.use(real, u)
		}
	}
	p.lift(p.read)
	p.lift(p.write)
	hosts, near := splitHosts(hosts)
	return Proposal{Profile: Profile{Read: p.paths(p.read, false), Write: p.paths(p.write, true), Hosts: hosts}, Omitted: append(p.omissions(), near...)}
}

// splitHosts returns the public hosts, and the local ones, which only a user may allow. While a
// program's accesses are recorded, it cannot reach local hosts, but its attempts are recorded.
func splitHosts(all []string) (public []string, near []Omission) {
	for _, text := range all {
		if h, err := parseHost(text); err == nil && (h.address.IsValid() && !isPublic(h.address) || h.name == "localhost") {
			near = append(near, Omission{Host: text, Reason: "it is an address of this machine or its networks"})
		} else {
			public = append(public, text)
		}
	}
	return public, near
}

// isGiven reports whether a program can read the path without a permission: because every program
// can, or because it belongs to this program.
func (p *proposing) isGiven(path string) bool {
	return isSystemPath(path) || p.isOfPackage(path)
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

func (p *proposing) isOfPackage(path string) bool {
	return slices.ContainsFunc(p.packages, func(dir string) bool { return isWithin(path, dir) })
}

// use adds the permission for the uses of one path.
func (p *proposing) use(path string, u uses) {
	writes := u.has(watch.Write, watch.Change)
	if u.has(watch.Connect, watch.Listen) || isSocket(path) {
		if u != 1<<watch.Look && exists(path) && !isSystemPath(path) {
			p.omit(path, true, "it is a socket of another program")
		}
		return
	}
	for _, meant := range p.namedPaths {
		if isWithin(path, meant) {
			p.add(p.around(meant, u), writes)
			return
		}
	}
	switch {
	case p.isOfPackage(path):
		switch {
		case u.has(watch.Change):
			p.omit(path, true, ofPackage)
		case writes && exists(path):
			p.add(path, true) // not the folder, because a program must not change itself
		}
		return
	case isSystemPath(path) || p.isTemporary(path):
		return
	case !writes && (!u.has(watch.Read, watch.Run) || !exists(path)):
		return // it was only looked for, or does not exist
	}
	at := p.around(path, u)
	if at == "" && slices.Contains(p.kept, path) {
		p.omit(path, true, "the file does not exist yet, and files that are created in this folder are deleted when the program ends; create the file, or name one in a folder of its own, and learn again")
	}
	switch path = at; {
	case path == "":
	case isWithinAny(path, p.junction):
		p.omit(path, writes, ofJunction)
	case isWithinAny(path, p.secret):
		p.omit(path, writes, ofSecrets)
	case p.isShared(path):
		p.omit(path, writes, "it contains files of all programs")
	default:
		if dir := p.settings(path); !p.isShared(dir) {
			path = dir
		}
		p.add(path, writes)
	}
}

// around returns the path to allow so that the program can change a file in its folder. It is the
// folder, unless that contains data of other programs.
func (p *proposing) around(path string, u uses) string {
	if !u.has(watch.Write, watch.Change) {
		return path
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && (info.IsDir() || !u.has(watch.Change) && !p.isKept(path)): // files there come and go, and makeWritten would make a folder for a missing one
		return path
	case !p.isShared(filepath.Dir(path)):
		return filepath.Dir(path)
	case err == nil:
		return path
	}
	return "" // it existed only for a moment
}

// settings returns the folder with a program's settings or data that contains a path, or else the
// path itself.
func (p *proposing) settings(path string) string {
	if p.home == "" || !isWithin(path, p.home) || path == p.home {
		return path
	}
	names := strings.Split(strings.TrimPrefix(path, strings.TrimSuffix(p.home, "/")+"/"), "/")
	for _, shared := range sharedInHome {
		depth := strings.Count(shared, "/") + 2
		if isWithin(filepath.Join(names...), shared) && len(names) >= depth {
			return filepath.Join(p.home, filepath.Join(names[:depth]...))
		}
	}
	if strings.HasPrefix(names[0], ".") {
		return filepath.Join(p.home, names[0])
	}
	return path
}

func (p *proposing) add(path string, writes bool) {
	switch {
	case path == "":
	case writes:
		p.write[path] = true
	default:
		p.read[path] = true
	}
}

func (p *proposing) omit(path string, writes bool, reason string) {
	writes = writes || p.omitted[path].Write
	p.omitted[path] = Omission{Path: p.short(path), Write: writes, Missing: !exists(path), Reason: reason}
}

// maxSiblings is the number of paths in one folder up to which they are allowed one by one.
const maxSiblings = 3

// lift replaces paths by their folder if there are too many of them in it.
func (p *proposing) lift(paths map[string]bool) {
	for again := true; again; {
		again = false
		inside := map[string]int{}
		for path := range paths {
			inside[filepath.Dir(path)]++
		}
		for dir, n := range inside {
			if n <= maxSiblings || p.isShared(dir) || p.isOfPackage(dir) {
				continue
			}
			for path := range paths {
				if filepath.Dir(path) == dir {
					delete(paths, path)
				}
			}
			paths[dir], again = true, true
		}
	}
}

// paths returns the paths that are not inside others, in the syntax of a profile.
func (p *proposing) paths(set map[string]bool, isWritten bool) (list []string) {
	for path := range set {
		covered := false
		for other := range set {
			covered = covered || other != path && isWithin(path, other)
		}
		for other := range p.write {
			covered = covered || isWithin(path, other) && (path != other || !isWritten)
		}
		if !covered {
			list = append(list, p.short(path))
		}
	}
	slices.Sort(list)
	return list
}

func (p *proposing) omissions() (list []Omission) {
	for path, o := range p.omitted {
		covered := false
		for other := range p.omitted {
			covered = covered || other != path && isWithin(path, other) && !p.isShared(other)
		}
		for dir := range p.write {
			covered = covered || isWithin(path, dir)
		}
		if !covered {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b Omission) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// short replaces the home folder in a path by ~, so that the profile also fits other machines.
func (p *proposing) short(path string) string {
	if p.home != "" && p.home != "/" && isWithin(path, p.home) {
		return "~" + strings.TrimPrefix(path, strings.TrimSuffix(p.home, "/"))
	}
	return path
}

// isShared reports whether a folder contains data of several programs or users, for example logins
// in ~/.config/git.
func (p *proposing) isShared(dir string) bool {
	holds := func(place string) bool { return place != dir && isWithin(place, dir) && exists(place) }
	return isShared(dir, p.home) || slices.Contains(p.temporary, dir) || slices.ContainsFunc(p.secret, holds) || slices.ContainsFunc(p.junction, holds)
}

// isTemporary reports whether a path is in a temporary folder of which each confined program has
// its own.
func (p *proposing) isTemporary(path string) bool {
	return !p.isKept(path) && slices.ContainsFunc(p.temporary, func(dir string) bool {
		return isWithin(path, dir) && (p.home == "" || !isWithin(path, p.home) || isWithin(dir, p.home)) // the home folder may be inside a temporary folder
	})
}

// isSystemPath reports whether a path needs no permission. Every confined program can read it or has
// a replacement, or can work without it, as with services that libraries only try first.
func isSystemPath(path string) bool {
	inside := func(dir string) bool { return isWithin(path, dir) }
	return slices.ContainsFunc(systemFolders, inside) || slices.ContainsFunc(systemFiles, inside) ||
		slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/run/systemd", "/run/nscd"}, inside) ||
		slices.ContainsFunc(madeSettings(""), func(p place) bool { return p.Path == path })
}

// named returns the existing paths in the words, without the root, and the program's working
// directory.
func (p *proposing) named(l Learned) []string {
	list := slices.DeleteFunc(p.inWords(l), func(path string) bool { return path == "/" || !exists(path) })
	if l.Dir != "" && !isShared(l.Dir, p.home) && !p.isGiven(l.Dir) && !p.isTemporary(l.Dir) {
		list = append(list, l.Dir)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return list
}

// inWords returns the paths in the words. They may not exist.
func (p *proposing) inWords(l Learned) (list []string) {
	for _, word := range l.Words {
		if _, value, isOption := strings.Cut(word, "="); isOption && !filepath.IsAbs(word) {
			word = value
		}
		if rest, found := strings.CutPrefix(word, "~/"); found && p.home != "" {
			word = filepath.Join(p.home, rest)
		}
		if !filepath.IsAbs(word) && l.Dir != "" && strings.ContainsAny(word, `./\`) && !strings.Contains(word, "://") {
			word = filepath.Join(l.Dir, word)
		}
		if path := filepath.Clean(word); filepath.IsAbs(path) && !p.isGiven(path) {
			list = append(list, path)
		}
	}
	return list
}

// inTemporary returns the named paths in temporary folders. For a file, existing or not, it returns
// the file's folder, unless that is a temporary folder itself. Then it returns the file.
func (p *proposing) inTemporary(l Learned) (list []string) {
	words := slices.Concat(l.Words, l.Named)
	for _, word := range words[:len(words):len(words)] { // splits lists, and URLs such as file:///tmp/project
		words = append(words, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(` ,:;="'`, r) })...)
	}
	for _, path := range p.inWords(Learned{Words: words, Dir: l.Dir}) {
		if !p.isTemporary(path) || isSocket(path) {
			continue
		}
		if info, err := os.Stat(path); (err != nil || !info.IsDir()) && !p.isShared(filepath.Dir(path)) {
			path = filepath.Dir(path)
		}
		list = append(list, path)
	}
	return list
}

// isKept reports whether a path in a temporary folder was named.
func (p *proposing) isKept(path string) bool { return isWithinAny(path, p.kept) }

// showNamed adds the named paths in temporary folders to the view. In all other respects the
// program has its own temporary folders. showNamed creates no files: the program creates a missing
// one in its own folder.
func (v *view) showNamed(l Learned, own []string) error {
	p := &proposing{home: v.home, temporary: temporaryFolders()}
	for _, path := range p.inTemporary(l) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || isWithinAny(real, own) || inSecret(real) {
			continue
		}
		switch {
		case isWithinAny(real, p.temporary):
			err = v.add(path, writable, true)
		case v.isShown(real): // a link would lead out of the folder
			err = v.add(path, shown, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unshown lists top-level folders that are hidden while a program's accesses are recorded. They are
// the kernel's folders, and those with sockets of other programs, such as the session bus, an agent
// with keys and a container engine. A visible socket could be used, and the program behind it is
// not confined. Sockets in other folders are hidden one by one, also those in named paths of /tmp.
var unshown = []string{"proc", "dev", "sys", "etc", "lost+found", "run", "tmp"}

// widest adds the files of the machine to the view, also for writing, while a program's accesses
// are recorded. It excludes places of keys and logins that the profile does not allow. The system's
// settings are read-only.
func (v *view) widest(allowed []string, l Learned) error {
	top, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	settings, err := os.ReadDir("/etc")
	if err != nil {
		return err
	}
	delete(v.places, v.home)
	for _, e := range top {
		if slices.Contains(unshown, e.Name()) {
			continue
		}
		delete(v.places, "/"+e.Name())
		if err := v.add("/"+e.Name(), writable, true); err != nil {
			return err
		}
	}
	for _, e := range settings {
		path := filepath.Join("/etc", e.Name())
		if _, known := v.places[path]; !known {
			if err := v.add(path, shown, true); err != nil {
				return err
			}
		}
	}
	for _, name := range secretInHome {
		path, err := filepath.EvalSymlinks(filepath.Join(v.home, name))
		if v.home != "" && err == nil && !slices.ContainsFunc(allowed, func(dir string) bool { return isWithin(path, dir) || isWithin(dir, path) }) {
			v.places[path] = place{Path: path, Kind: hidden}
		}
	}
	return v.narrow(allowed, l)
}

// narrow removes access to other programs, and to Junction's own data, from the widest view.
func (v *view) narrow(allowed []string, l Learned) error {
	for path, p := range v.places {
		if p.Kind == shown && isWithin(path, "/tmp") { // files in a project there are writable, as elsewhere
			p.Kind = writable
			v.places[path] = p
		}
	}
	if real, err := filepath.EvalSymlinks(v.home); err == nil && !v.isShown(real) {
		if err := v.add(v.home, writable, true); err != nil {
			return err
		}
	}
	for _, path := range []string{"/var/run", "/var/tmp"} {
		delete(v.places, path)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			v.places[path] = place{Path: path, Kind: temporary, Size: maxTemporary}
		}
	}
	own := junctionPlaces()
	for _, name := range []string{"SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"} {
		own = append(own, namesOf(os.Getenv(name))...)
	}
	if err := v.showNamed(l, own); err != nil {
		return err
	}
	for _, path := range sockets() {
		if !isWithinAny(path, allowed) && v.isShown(path) {
			v.hide(path)
		}
	}
	for _, path := range own {
		if real, err := filepath.EvalSymlinks(path); err == nil && real == path && !holdsUserFiles(path) && v.isShown(path) {
			v.hide(path)
		}
	}
	return nil
}

// sockets returns the paths of this machine's Unix sockets. Sockets created later are hidden only
// from Linux 7 on, where Landlock refuses sockets of other programs.
func sockets() (list []string) {
	f, err := os.Open("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		_, path, found := strings.Cut(lines.Text(), " /") // the last column may contain spaces
		if !found {
			continue
		}
		if path, err := filepath.EvalSymlinks("/" + path); err == nil && isSocket(path) {
			list = append(list, path)
		}
	}
	return list
}

// isShown reports whether the program sees the machine's file at a path.
func (v *view) isShown(path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		if p, known := v.places[dir]; known && p.Kind != link {
			return p.Kind == shown || p.Kind == writable
		}
		if dir == "/" {
			return false
		}
	}
}

// hide hides a path, except for places inside it, such as the program's own package.
func (v *view) hide(path string) {
	p := place{Path: path, Kind: hidden}
	for other := range v.places {
		if other != path && isWithin(other, path) {
			p.Kind, p.Size = temporary, maxTemporary // an empty folder, in which these can be shown
		}
	}
	v.places[path] = p
}
