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

// special lists ranges of special addresses, in addition to those that net/netip reports as
// private: ranges of carriers and clouds, and ranges for examples, tests and protocols. It includes
// IPv6 ranges whose addresses contain an IPv4 address, because a translator could reach any IPv4
// address through them.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),    // carriers, and metadata services of some clouds
	netip.MustParsePrefix("168.63.129.16/32"), // services of Azure for its virtual machines
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

// global is the range of IPv6 in which public addresses are assigned. Addresses outside it,
// including NAT64, are not public.
var global = netip.MustParsePrefix("2000::/3")

// IsHere reports whether a host of a URL, without brackets, is this machine: localhost in lower
// case, or a loopback address.
func IsHere(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// Address reports whether an address belongs to the public internet. It reports false for an
// address with a zone.
func Address(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && (a.Is4() || global.Contains(a)) &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Host reports whether a host of a URL may be public, judging by its name alone. name must be in
// ASCII and without brackets. Host reports false for names with only one label, names with a suffix
// for local networks, and unusual spellings of addresses. Even a public name can be resolved to an
// internal address, so callers must check the address too.
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
