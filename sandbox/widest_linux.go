package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unshown are folders at the top that no program is learned from by: those of the kernel, and those with the sockets of other programs, such as the
// session's bus, an agent with keys and a container engine. A socket can be used wherever it is seen, and whoever answers is not confined; those
// that stand elsewhere are hidden one by one, and so are those in what is named of /tmp.
var unshown = []string{"proc", "dev", "sys", "etc", "lost+found", "run", "tmp"}

// widest shows a program that is learned from the files of the machine, to be written too, but for those where keys and logins
// are kept and the profile does not have, and the system's settings, which it only reads.
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
		if v.home != "" && err == nil && !slices.ContainsFunc(allowed, func(dir string) bool { return within(path, dir) || within(dir, path) }) {
			v.places[path] = place{Path: path, Kind: hidden}
		}
	}
	return v.narrow(allowed, l)
}

// narrow takes out of the widest view what leads to other programs, and what Junction keeps.
func (v *view) narrow(allowed []string, l Learned) error {
	for path, p := range v.places {
		if p.Kind == shown && within(path, "/tmp") { // a project there, say, is written as elsewhere
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
		if real, err := filepath.EvalSymlinks(path); err == nil && real == path && !holdsPerson(path) && v.isShown(path) {
			v.hide(path)
		}
	}
	return nil
}

// sockets are those with a path at which programs of this machine wait. What binds one later is kept from the program from Linux 7 on only,
// where Landlock refuses all sockets of others.
func sockets() (list []string) {
	f, err := os.Open("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		_, path, found := strings.Cut(lines.Text(), " /") // the last column, which may have spaces
		if !found {
			continue
		}
		if path, err := filepath.EvalSymlinks("/" + path); err == nil && isSocket(path) {
			list = append(list, path)
		}
	}
	return list
}

// isShown reports whether what is at a path outside is there for the program, too.
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

// hide leaves nothing at a path but what the program has below it, such as its own package.
func (v *view) hide(path string) {
	p := place{Path: path, Kind: hidden}
	for other := range v.places {
		if other != path && within(other, path) {
			p.Kind, p.Size = temporary, maxTemporary // in which there can be something
		}
	}
	v.places[path] = p
}
