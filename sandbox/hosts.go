package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/outside"
)

// A host is an entry of [Profile].Hosts.
type host struct {
	name    string     // in lower case, without the "*." of a wildcard
	suffix  bool       // any name below it
	address netip.Addr // in place of a name
	ports   []uint16
	any     bool // every host of the internet, at every port
}

var usualPorts = []uint16{443, 80}

// unusualPorts are those at which a program that is learned from finds what it wants to reach, too.
var unusualPorts = []uint16{22, 25, 465, 587, 993, 1433, 3306, 5432, 6379, 6443, 8443, 9200, 27017}

const maxHosts = 200

var hostName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// parseHost reads NAME, *.NAME or an address, each with :PORT where it is not for 443 and 80.
func parseHost(text string) (host, error) {
	h := host{ports: usualPorts}
	if strings.Contains(text, "/") {
		return host{}, fmt.Errorf("%q: expected a host name without a scheme or a path", text)
	}
	name, port := text, ""
	switch at := strings.LastIndexByte(text, ':'); {
	case strings.HasPrefix(text, "["):
		end := strings.IndexByte(text, ']')
		if end < 0 || end+1 < len(text) && text[end+1] != ':' {
			return host{}, fmt.Errorf("%q: expected [ADDRESS] or [ADDRESS]:PORT", text)
		}
		name, port = text[1:end], strings.TrimPrefix(text[end+1:], ":")
	case at >= 0 && strings.Count(text, ":") == 1:
		name, port = text[:at], text[at+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return host{}, fmt.Errorf("%q: expected a port from 1 to 65535 behind the colon", text)
		}
		h.ports = []uint16{uint16(n)}
	}
	if a, err := netip.ParseAddr(name); err == nil {
		h.address = a.Unmap().WithZone("")
		return h, nil
	}
	h.name = strings.TrimSuffix(strings.ToLower(name), ".")
	if rest, wild := strings.CutPrefix(h.name, "*."); wild {
		h.name, h.suffix = rest, true
		if !strings.Contains(rest, ".") {
			return host{}, fmt.Errorf("%q: expected at least two labels behind the *", text)
		}
	}
	if len(h.name) > 253 || !hostName.MatchString(h.name) {
		return host{}, fmt.Errorf("%q: expected a host name, *.DOMAIN or an address, with :PORT for another port than 443 and 80", text)
	}
	return h, nil
}

// hostText is a host as a profile has it: with its port, if it is another one than 443 and 80.
func hostText(host string, port uint16) string {
	if slices.Contains(usualPorts, port) {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// hosts are those of a profile.
type hosts []host

func parseHosts(list []string) hosts {
	var all hosts
	for _, text := range list {
		if h, err := parseHost(text); err == nil { // New has checked them
			all = append(all, h)
			if h.name == "localhost" && !h.suffix {
				all = append(all, host{address: netip.MustParseAddr("127.0.0.1"), ports: h.ports}, host{address: netip.IPv6Loopback(), ports: h.ports})
			}
		}
	}
	return all
}

// hasName reports whether a name may be resolved.
func (all hosts) hasName(name string) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.matches(name) })
}

func (h host) matches(name string) bool {
	if h.any {
		return true
	}
	if h.suffix {
		return strings.HasSuffix(name, "."+h.name)
	}
	return h.name != "" && h.name == name
}

// allowsName reports whether a port of a name may be connected to.
func (all hosts) allowsName(name string, port uint16) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.matches(name) && (h.any || slices.Contains(h.ports, port)) })
}

// allowsAddress reports whether the profile has the address itself.
func (all hosts) allowsAddress(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(all, func(h host) bool { return h.any && isPublic(a) || h.address == a && slices.Contains(h.ports, port) })
}

// ports are those that any of the hosts has, and the usual ones, on which refusals are seen.
func (all hosts) ports() []uint16 {
	ports := slices.Clone(usualPorts)
	for _, h := range all {
		ports = append(ports, h.ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// isPublic reports whether an address belongs to the internet at large, and so to no machine or network of the person.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !outside.Address(a) {
		return false
	}
	here, err := net.InterfaceAddrs() // each time, as machines move
	return err == nil && !isAmong(a, here)
}

// isAmong reports whether an address is one of this machine's or of its direct neighbours, which may be addresses of the internet, too.
func isAmong(a netip.Addr, here []net.Addr) bool {
	return slices.ContainsFunc(here, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err != nil || p.Addr().Unmap() == a || p.Contains(a) // what is not understood may be anything
	})
}

// allowedHosts are those that the program may reach.
func (s *Sandbox) allowedHosts() hosts {
	all := parseHosts(s.profile.Hosts)
	if s.o.Record != nil {
		all = append(all, host{any: true, ports: unusualPorts})
	}
	return all
}
