package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
)

const (
	dialTime = 10 * time.Second // maximum time to connect
	maxHosts = 100              // idle connections
)

// transport returns a transport that connects only to public addresses, unless private is set. It
// checks the address after the name was resolved, so that no name and no redirect can evade the
// check. It uses no proxy, because a proxy would resolve names itself.
func transport(private bool) *http.Transport {
	d := &net.Dialer{Timeout: dialTime}
	if !private {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %s: %w", address, err)
			}
			if !isPublic(at.Addr()) {
				return fmt.Errorf("%s is an address of a private network, and fetch does not read from these (--private allows it)", at.Addr())
			}
			return nil
		}
	}
	return &http.Transport{DialContext: d.DialContext, MaxIdleConns: maxHosts, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 1 << 20}
}

// isPublic reports whether an address is on the internet.
func isPublic(a netip.Addr) bool { return outside.Address(a) }
