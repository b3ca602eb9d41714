package sandbox

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// seatbeltSystem holds the rules for every program on macOS. They allow the system's files, and
// information about the machine that libraries need. Everything else is refused: Mach services
// except three, the keychain, the clipboard, other programs, DNS. kern.procargs would reveal the
// arguments and environment of all programs of the user, and /System/Volumes/Data all of the user's
// files.
const seatbeltSystem = `(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(deny sysctl-read (sysctl-name-prefix "kern.procargs"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.trustd.agent"))
(allow ipc-posix-sem)
(allow file-read-metadata (literal "/") (literal "/private") (literal "/private/var") (literal "/private/tmp") (literal "/etc") (literal "/tmp") (literal "/var"))
(allow file-read*
  (literal "/")
  (subpath "/bin") (subpath "/sbin") (subpath "/usr/bin") (subpath "/usr/sbin") (subpath "/usr/lib") (subpath "/usr/libexec") (subpath "/usr/share")
  (subpath "/usr/local/bin") (subpath "/usr/local/lib") (subpath "/usr/local/opt") (subpath "/usr/local/share") (subpath "/usr/local/Cellar")
  (subpath "/opt/homebrew/bin") (subpath "/opt/homebrew/lib") (subpath "/opt/homebrew/opt") (subpath "/opt/homebrew/share") (subpath "/opt/homebrew/Cellar")
  (subpath "/usr/local/etc/openssl@3") (subpath "/usr/local/etc/ca-certificates") (subpath "/opt/homebrew/etc/openssl@3") (subpath "/opt/homebrew/etc/ca-certificates")
  (subpath "/nix/store")
  (subpath "/System") (subpath "/Library/Frameworks") (subpath "/Library/Apple") (subpath "/Library/Developer/CommandLineTools")
  (subpath "/private/etc/ssl") (literal "/private/etc/hosts") (literal "/private/etc/localtime") (literal "/private/etc/passwd")
  (literal "/private/etc/protocols") (literal "/private/etc/services") (subpath "/private/var/db/timezone") (subpath "/private/var/db/dyld")
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/autofs_nowait"))
(deny file-read* (subpath "/System/Volumes/Data"))
(allow file-write-data (require-all (path "/dev/null") (vnode-type CHARACTER-DEVICE)))
`

// seatbelt returns the command line with which macOS starts and confines a program. Paths are
// parameters and not part of the rules, so that a file name cannot act as a rule. The rules cannot
// contain host names. So the program can reach only the proxy, which decides by name.
func seatbelt(l outsourced) (argv []string, env []string, err error) {
	var text strings.Builder
	text.WriteString(seatbeltSystem)
	argv = []string{"/usr/bin/sandbox-exec", "-p", ""}
	parameter := func(path string) string {
		name := fmt.Sprintf("P%d", len(argv))
		argv = append(argv, "-D", name+"="+path)
		return "(param \"" + name + "\")"
	}
	if !filepath.IsAbs(l.argv[0]) || !filepath.IsAbs(l.temp) {
		return nil, nil, fmt.Errorf("the program %q and its folder %q are not absolute", l.argv[0], l.temp)
	}
	read := append([]string{l.argv[0]}, l.profile.Read...)
	write := append([]string{l.temp}, l.profile.Write...)
	seen := slices.Concat(l.links, ancestors(slices.Concat(read, write, l.links)))
	slices.Sort(seen)
	for _, path := range slices.Compact(seen) {
		// To resolve the real path of a file, a program reads the metadata of each folder above it
		// and of each link. It does not need their contents.
		fmt.Fprintf(&text, "(allow file-read-metadata (literal %s))\n", parameter(path))
	}
	for _, path := range read {
		fmt.Fprintf(&text, "(allow file-read* (subpath %s))\n", parameter(path))
	}
	for _, path := range write {
		fmt.Fprintf(&text, "(allow file-read* file-write* (subpath %s))\n", parameter(path))
	}
	if l.proxy != "" {
		host, port, err := net.SplitHostPort(l.proxy)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() || strings.Trim(port, "0123456789") != "" || port == "" {
			return nil, nil, fmt.Errorf("the proxy %q is not an address and port of this machine", l.proxy)
		}
		fmt.Fprintf(&text, "(allow network-outbound (remote tcp \"localhost:%s\"))\n", port)
	}
	argv[2] = text.String()
	return append(append(argv, "--"), l.argv...), l.environment(), nil
}

// environment returns the variables for the program's temporary folder and the proxy.
func (l outsourced) environment() (env []string) {
	env = []string{"TMPDIR=" + l.temp}
	if l.proxy != "" {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			env = append(env, name+"=http://"+l.proxy)
		}
		env = append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
	}
	return env
}

// ancestors returns all folders above some paths, except /.
func ancestors(paths []string) (list []string) {
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
