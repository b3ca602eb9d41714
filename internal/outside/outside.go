// Package outside distinguishes the internet from internal addresses: this machine, private
// networks and the internal services of clouds. All code that connects to addresses from untrusted
// sources uses it.
package outside

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// special lists ranges in addition to those that net/netip knows as private: of carriers and
// clouds, for examples, tests and protocols. It includes IPv6 ranges that contain an IPv4 address,
// through which a translator reaches any other.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),    // carriers, and metadata services of clouds
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's services for its machines
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
}

// global is the assigned part of IPv6; everything else is special, including NAT64.
var global = netip.MustParsePrefix("2000::/3")

// IsHere reports whether a host of a URL, without brackets, is this machine: localhost in lower
// case, or a loopback address.
func IsHere(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// Address reports whether an address belongs to the public internet. An address with a zone does
// not.
func Address(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && (a.Is4() || global.Contains(a)) &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Host reports whether a host of a URL, in ASCII and without brackets, may be a public one by its
// name. Names of one label, names with a suffix of local networks, and other spellings of addresses
// are not. The target of a name is known only after its lookup.
func Host(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if a, err := netip.ParseAddr(name); err == nil {
		return Address(a)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case len(last) == len(name) || last == "":
		return false
	case strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "":
		return false
	case slices.Contains([]string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private"}, last), strings.HasSuffix(name, ".home.arpa"):
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool { return r > '~' || r <= ' ' }) < 0
}
