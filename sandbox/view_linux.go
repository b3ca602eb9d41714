package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A place is something that a confined program finds at a path.
type place struct {
	Path     string
	Kind     kind
	Text     string // of a file its contents, of a link where it leads
	Size     int64  // of a temporary folder
	Optional bool   // left out where it is not there
}

type kind uint8

const (
	shown     kind = iota // what is there outside, to be read
	writable              // the same, to be written too
	device                // the same, a device
	temporary             // an empty folder in memory
	file                  // a file made for the program
	link                  // a symbolic link
	ownProc               // the sandbox's own /proc
	hidden                // nothing, where there is something in a folder around
)

// systemFolders are where programs and libraries of the system are. Every confined program reads them, and systemFiles; on macOS, those of
// seatbeltSystem.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/run/current-system/sw"}

// systemFiles are settings that libraries read; they say nothing of the person.
var systemFiles = []string{
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/localtime", "/etc/timezone", "/etc/alternatives", "/etc/protocols", "/etc/services",
	"/etc/mime.types", "/etc/gai.conf", "/etc/host.conf", "/etc/os-release", "/etc/fonts", "/etc/java", "/etc/static", "/etc/magic",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// temporaryFolders belong to all programs of the machine. A confined program has folders of its own in their place.
func temporaryFolders() []string {
	return []string{"/tmp", "/var/tmp", "/dev/shm", filepath.Clean(os.TempDir())}
}

// view is what a program sees of the file system.
type view struct {
	home    string
	written []string // folders that the program writes
	places  map[string]place
}

// add puts a path of the machine into the view, with the links that lead to it.
func (v *view) add(path string, k kind, optional bool) error {
	for range hops {
		if within(filepath.Clean(path), "/proc") {
			return nil // which is the program's own
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
			return nil // a link that the program could have made leads nowhere
		}
		v.places[hop] = place{Path: hop, Kind: link, Text: target}
		path = real
	}
	return fmt.Errorf("%s: more than %d links", path, hops)
}

// viewOf is what a program sees: what every one does, its profile, and folders that are read because they belong to it.
func (s *Sandbox) viewOf(folders []string) ([]place, error) {
	paths, written := s.written()
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
	if v.home != "" && !within(v.home, "/usr") {
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

// sorted has folders before what is in them, and leaves out what others show anyway.
func (v *view) sorted() []place {
	for path := range v.places {
		if path != "/var/tmp" && within(path, "/var/tmp") && v.places["/var/tmp"].Kind == link { // while the view is put together, it leads to the machine's /tmp
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

// redundant reports whether a place is in a folder that shows the same.
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

// madeSettings are what a program finds in place of the machine's own settings.
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

// passwd names the person as the program needs to, and nobody else.
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
