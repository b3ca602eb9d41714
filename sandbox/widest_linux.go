package sandbox

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// widest shows a program that is learned from the files of the machine, to be written too, but for those where keys and logins
// are kept and the profile does not have, and the system's settings, which it only reads.
func (v *view) widest(allowed []string) error {
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
		if slices.Contains([]string{"proc", "dev", "sys", "etc", "lost+found"}, e.Name()) {
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
	return nil
}

// learn records which host a program wants to connect to. The kernel refuses the connection where nothing waits at
// the port, but by then it was seen.
func (n *network) learn(r *Record, a watch.Access) {
	at, err := netip.ParseAddrPort(a.Address)
	if a.Kind != watch.Connect || err != nil || at.Port() == 0 || at.Port() == resolverPort {
		return
	}
	host := n.names.name(at.Addr())
	if host == "" {
		if at.Addr().IsLoopback() { // the program itself
			return
		}
		host = at.Addr().String()
	}
	if !slices.Contains(usualPorts, at.Port()) {
		host = net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
	}
	r.host(host)
}

// allowed are the files of the profile.
func (s *Sandbox) allowed() (list []string) {
	for _, path := range slices.Concat(s.profile.Read, s.profile.Write) {
		list = append(list, s.absolute(path))
	}
	return list
}
