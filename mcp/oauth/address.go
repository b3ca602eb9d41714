package oauth

import "net/netip"

// isPublic reports whether an address is one of the internet: neither of this machine or of a private network, nor one that
// stands for another address, such as an IPv4 address within one of IPv6, which may be private.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	if !a.Is4() && !netip.MustParsePrefix("2000::/3").Contains(a) { // all other IPv6 addresses are special, NAT64's too
		return false
	}
	for _, p := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", // 2001::/23 has Teredo's, 2002::/16 is 6to4
	} {
		if netip.MustParsePrefix(p).Contains(a) {
			return false
		}
	}
	return true
}
