package sandbox

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// An unreachable names connections that are refused. At most ports nothing of the sandbox waits, and the kernel refuses them by
// itself; at the others a program may have ended before its connection was looked at.
type unreachable struct {
	launcher int
	ports    []uint16 // those at which the network waits
	network  *network
}

// see is called before a program connects.
func (u *unreachable) see(a watch.Access) {
	at, err := netip.ParseAddrPort(a.Address)
	if err != nil || at.Port() == 0 || at.Port() == resolverPort {
		return
	}
	address := at.Addr().Unmap()
	if slices.Contains(u.ports, at.Port()) {
		u.network.admit(address, at.Port())
		return
	}
	host, reason := address.String(), "it is not among the hosts of the profile"
	if name := u.network.names.name(address); name != "" {
		host, reason = name, "the profile has other ports of this host only"
	} else if address.IsLoopback() {
		if listensIn(u.launcher, at.Port()) { // a server of the program's own
			return
		}
		reason = "the services of this machine are not there"
	}
	u.network.refused(host, at.Port(), reason)
}

// listensIn reports whether something in the sandbox of a launcher waits at a port of TCP.
func listensIn(launcher int, port uint16) bool {
	const listening = "0A"
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", launcher, table))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 3 && fields[3] == listening && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				f.Close()
				return true
			}
		}
		f.Close()
	}
	return false
}
