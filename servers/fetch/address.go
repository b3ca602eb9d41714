package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	dialTime = 10 * time.Second // for a connection
	maxHosts = 100              // connections that wait for the next request
)

// transport connects to public addresses only, unless private ones are allowed. Names are looked up before
// that, so that no name and no redirect leads elsewhere. Proxies are not used: they would look names up.
func transport(private bool) *http.Transport {
	d := &net.Dialer{Timeout: dialTime}
	if !private {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %s: %w", address, err)
			}
			if !isPublic(at.Addr()) {
				return fmt.Errorf("%s is an address of a private network, which pages are not read from (--private allows it)", at.Addr())
			}
			return nil
		}
	}
	return &http.Transport{DialContext: d.DialContext, MaxIdleConns: maxHosts, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 1 << 20}
}

// isPublic reports whether an address is one of the internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", // special
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "fec0::/10", // special, and those that hold an IPv4 address
	} {
		if netip.MustParsePrefix(p).Contains(a) {
			return false
		}
	}
	return true
}
