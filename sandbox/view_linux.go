package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A place is a path in the file system that a confined program sees.
type place struct {
	Path     string
	Kind     kind
	Text     string // content of a file, or target of a link
	Size     int64  // maximum size of a temporary folder
	Optional bool   // omitted if the path does not exist
}

type kind uint8

const (
	shown     kind = iota // the machine's file or folder, read-only
	writable              // the machine's file or folder, writable
	device                // the machine's device
	temporary             // an empty folder in memory
	file                  // a file with a given content
	link                  // a symbolic link
	ownProc               // a /proc of the sandbox
	hidden                // empty, in place of a file or folder that must not be seen
)

// systemFolders lists the folders with the system's programs and libraries. Every confined program
// may read these and systemFiles. On macOS, seatbeltSystem allows others.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/run/current-system/sw"}

// systemFiles lists files with settings that libraries read. They contain no information about the
// user.
var systemFiles = []string{
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/localtime", "/etc/timezone", "/etc/alternatives", "/etc/protocols", "/etc/services",
	"/etc/mime.types", "/etc/gai.conf", "/etc/host.conf", "/etc/os-release", "/etc/fonts", "/etc/java", "/etc/static", "/etc/magic",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// temporaryFolders returns the temporary folders that all programs share. A confined program has
// its own folders in their place.
func temporaryFolders() []string {
	return []string{"/tmp", "/var/tmp", "/dev/shm", filepath.Clean(os.TempDir())}
}

// A view is the file system of a program.
type view struct {
	home    string
	written []string // folders that the program may write
	places  map[string]place
}

// add adds a path of the machine to the view, and the links that lead to it.
func (v *view) add(path string, k kind, optional bool) error {
	for range hops {
		if isWithin(filepath.Clean(path), "/proc") {
			return nil // the program has its own /proc
		}
		real, hop, target, err := firstLink(filepath.Clean(path))
		if err != nil {
			if optional {
				return nil
			}
			return err
		}
		if hop == "" {
			if p, known := v.places[real]; !known || p.Kind != writable {
				v.places[real] = place{Path: real, Kind: k, Optional: optional}
			}
			return nil
		}
		if isWithinAny(hop, v.written) {
			return nil // not followed, because the program could have made this link
		}
		v.places[hop] = place{Path: hop, Kind: link, Text: target}
		path = real
	}
	return fmt.Errorf("%s: more than %d links", path, hops)
}

// viewOf returns the places in the view of a program. They are the places that all programs have,
// those of its profile, and folders that belong to the program.
func (s *Sandbox) viewOf(folders []string) ([]place, error) {
	paths, written := s.writtenPaths()
	v := &view{home: home(), written: written, places: map[string]place{}}
	for _, path := range slices.Concat(systemFolders, systemFiles) {
		if err := v.add(path, shown, true); err != nil {
			return nil, err
		}
	}
	for _, path := range devices {
		v.places[path] = place{Path: path, Kind: device}
	}
	for _, p := range madeSettings(v.home) {
		v.places[p.Path] = p
	}
	for path, target := range map[string]string{"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/var/tmp": "/tmp"} {
		v.places[path] = place{Path: path, Kind: link, Text: target}
	}
	v.places["/proc"] = place{Path: "/proc", Kind: ownProc}
	v.places["/tmp"] = place{Path: "/tmp", Kind: temporary, Size: maxTemporary}
	v.places["/dev/shm"] = place{Path: "/dev/shm", Kind: temporary, Size: maxShared}
	if v.home != "" && !isWithin(v.home, "/usr") {
		if real, err := filepath.EvalSymlinks(v.home); err == nil && real != v.home {
			v.places[v.home] = place{Path: v.home, Kind: link, Text: real}
			v.home = real
		}
		v.places[v.home] = place{Path: v.home, Kind: temporary, Size: maxTemporary}
	}
	for _, path := range folders {
		if err := v.add(path, shown, true); err != nil {
			return nil, fmt.Errorf("program's folder: %w", err)
		}
	}
	for _, path := range s.profile.Read {
		if err := v.add(s.absolute(path), shown, true); err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
	}
	for _, path := range paths {
		if err := checkLinks(path); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		if err := makeWritten(path); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		if err := v.add(path, writable, false); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
	}
	if s.o.Record != nil {
		if err := v.widest(s.allowedFiles(), s.o.Learned); err != nil {
			return nil, err
		}
	}
	return v.sorted(), nil
}

// sorted returns the places without redundant ones, folders before their contents.
func (v *view) sorted() []place {
	for path := range v.places {
		if path != "/var/tmp" && isWithin(path, "/var/tmp") && v.places["/var/tmp"].Kind == link { // while the view is assembled, the link would lead to the machine's /tmp
			v.places["/var/tmp"] = place{Path: "/var/tmp", Kind: temporary, Size: maxTemporary}
		}
	}
	var all []place
	for _, p := range v.places {
		if !v.redundant(p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// redundant reports whether a place is inside a folder that already shows it in the same way.
func (v *view) redundant(p place) bool {
	if p.Kind != shown && p.Kind != writable && p.Kind != link || p.Path == "/" {
		return false
	}
	for dir := filepath.Dir(p.Path); ; dir = filepath.Dir(dir) {
		if above, known := v.places[dir]; known && above.Kind != link {
			return above.Kind == p.Kind || (above.Kind == shown || above.Kind == writable) && p.Kind == link || above.Kind == writable && p.Kind == shown
		}
		if dir == "/" {
			return false
		}
	}
}

// madeSettings returns the files that replace the machine's own settings.
func madeSettings(home string) []place {
	return []place{
		{Path: "/etc/hosts", Kind: file, Text: hostsFile},
		{Path: "/etc/resolv.conf", Kind: file, Text: "nameserver 127.0.0.1\noptions timeout:10 attempts:1\n"},
		{Path: "/etc/nsswitch.conf", Kind: file, Text: "passwd: files\ngroup: files\nhosts: files dns\n"},
		{Path: "/etc/passwd", Kind: file, Text: passwd(home)},
		{Path: "/etc/group", Kind: file, Text: groups()},
		{Path: "/etc/hostname", Kind: file, Text: hostname + "\n"},
		{Path: "/etc/mtab", Kind: link, Text: "/proc/mounts"},
	}
}

const (
	hostname  = "sandbox"
	hostsFile = "127.0.0.1 localhost " + hostname + "\n::1 localhost\n"
)

// passwd returns the content of a passwd file that has only the user and the accounts that programs
// need.
func passwd(home string) string {
	if home == "" {
		home = "/tmp"
	}
	text := "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
	if os.Getuid() != 0 {
		text += "root:x:0:0:root:/:/usr/sbin/nologin\n"
	}
	return text + fmt.Sprintf("user:x:%d:%d:user:%s:/bin/sh\n", os.Getuid(), os.Getgid(), home)
}

func groups() string {
	text := "nogroup:x:65534:\n"
	if os.Getgid() != 0 {
		text += "root:x:0:\n"
	}
	return text + fmt.Sprintf("user:x:%d:\n", os.Getgid())
}

// newRoot is the folder where the view is assembled. It always exists, and is not needed meanwhile.
const newRoot = "/proc"

// enter replaces the file system of this process by the view. The process must be in a mount
// namespace of its own.
func enter(places []place) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// All trees are opened first, because the new root will cover a part of the old one.
	trees := make([]int, len(places))
	for i, p := range places {
		if p.Path == "/" { // it would replace the new root, which has the program's own places
			return errors.New("/: all files of the machine cannot be shown; name folders in it")
		}
		tree, err := p.tree()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		trees[i] = tree
	}
	root, err := newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode", "755", "size", "1m", "nr_inodes", "4096")
	if err != nil {
		return err
	}
	if err := attach(root, newRoot); err != nil {
		return err
	}
	for i, p := range places {
		if err := p.put(trees[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	unix.Close(root)
	if err := unix.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// tree returns a detached mount for the place, or -1 if it needs none.
func (p place) tree() (int, error) {
	switch p.Kind {
	case temporary:
		return newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode", "700", "size", fmt.Sprint(p.Size), "nr_inodes", "65536")
	case hidden:
		if info, err := os.Stat(p.Path); err == nil && info.IsDir() {
			return newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY, "mode", "700", "size", "4k")
		}
		return unix.OpenTree(unix.AT_FDCWD, "/dev/null", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	case ownProc:
		// Read-only, because a program that runs as root could otherwise change system settings in
		// /proc/sys, even without capabilities.
		return newMount("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case shown, writable, device:
		tree, err := unix.OpenTree(unix.AT_FDCWD, p.Path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			if p.Optional {
				return -1, nil
			}
			return -1, err
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
		if p.Kind != device {
			attr.Attr_set |= unix.MOUNT_ATTR_NODEV
		}
		if p.Kind == shown {
			attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
			return -1, fmt.Errorf("mount_setattr: %w", err)
		}
		return tree, nil
	}
	return -1, nil
}

// put attaches the place to the new root.
func (p place) put(tree int) error {
	path := filepath.Join(newRoot, p.Path)
	switch {
	case p.Kind == hidden && tree >= 0 && !exists(path):
		return unix.Close(tree) // the path was removed meanwhile; it must not be created, because others write there
	case p.Kind == link || p.Kind == file || tree >= 0:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	default:
		return nil // the optional path does not exist
	}
	switch {
	case p.Kind == link:
		return os.Symlink(p.Text, path)
	case p.Kind == file:
		return p.make(path)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(tree, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	} else if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444); err == nil {
		f.Close()
	} else if !os.IsExist(err) {
		return err
	}
	return attach(tree, path)
}

// make creates a file. In a folder of the machine it mounts the file over an existing one, because
// the folder does not belong to the program.
func (p place) make(path string) error {
	var above, root unix.Stat_t
	if err := errors.Join(unix.Stat(filepath.Dir(path), &above), unix.Stat(newRoot, &root)); err != nil {
		return err
	}
	if above.Dev == root.Dev {
		return os.WriteFile(path, []byte(p.Text), 0o444)
	}
	if _, err := os.Lstat(path); err != nil {
		return nil // nothing may be created in this folder
	}
	made := filepath.Join(newRoot, "made")
	if err := os.WriteFile(made, []byte(p.Text), 0o444); err != nil {
		return err
	}
	defer os.Remove(made) // the mount keeps the content
	tree, err := unix.OpenTree(unix.AT_FDCWD, made, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	return attach(tree, path)
}

func attach(tree int, path string) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// newMount creates a file system. options holds pairs of names and values.
func newMount(kind string, attr int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	defer unix.Close(fs)
	for i := 0; i < len(options); i += 2 {
		if err := unix.FsconfigSetString(fs, options[i], options[i+1]); err != nil {
			return -1, fmt.Errorf("%s %s: %w", kind, options[i], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	return tree, nil
}

// automounted returns the folders in which looking up a name mounts a file system, such as /net. If
// Junction looked up a name there that a confined program chose, the system would connect to a host
// of that name.
func automounted() []string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	return slices.DeleteFunc(automountsIn(f), isSkipped) // every machine has one in /proc, where no names are looked up
}

// automountsIn parses a table of mounts; see proc(5).
func automountsIn(table io.Reader) (folders []string) {
	for lines := bufio.NewScanner(table); lines.Scan(); {
		mount, source, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(mount)
		if kind, _, _ := strings.Cut(source, " "); kind == "autofs" && len(fields) > 4 {
			folders = append(folders, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4]))
		}
	}
	return folders
}
