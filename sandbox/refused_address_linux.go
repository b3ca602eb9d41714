package sandbox

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// An unreachable names connections to ports at which nothing of the sandbox waits: the kernel refuses them by itself, and
// no listener sees them.
type unreachable struct {
	launcher int
	ports    []uint16 // those at which something waits, and says what it refuses
	names    *names
	refuse   func(Refusal)
}

// see is called when a program may have tried to connect already.
func (u *unreachable) see(a watch.Access) {
	at, err := netip.ParseAddrPort(a.Address)
	if err != nil || at.Port() == 0 || at.Port() == resolverPort || slices.Contains(u.ports, at.Port()) {
		return
	}
	address := at.Addr().Unmap()
	host, reason := address.String(), "it is not among the hosts of the profile"
	if name := u.names.name(address); name != "" {
		host, reason = name, "the profile has other ports of this host only"
	} else if address.IsLoopback() {
		if u.listens(at.Port()) { // a server of the program's own
			return
		}
		reason = "the services of this machine are not there"
	}
	target := net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
	u.refuse(Refusal{What: "connect to " + target, Reason: reason, Allow: []string{"--host", target}})
}

// listens reports whether something in the sandbox waits at a port of TCP.
func (u *unreachable) listens(port uint16) bool {
	const listening = "0A"
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", u.launcher, table))
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
