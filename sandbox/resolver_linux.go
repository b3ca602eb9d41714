package sandbox

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// names assigns an address to each host name that the program may resolve. A connection to the
// address thereby reveals the name.
type names struct {
	allowed hosts
	refuse  func(Refusal)
	first   netip.Addr // first address to assign

	mu        sync.Mutex
	addresses map[string]netip.Addr
	byAddress map[netip.Addr]string
}

// firstName is the first address that is assigned to a name. It must be public, because programs
// check the addresses of names and refuse loopback or private ones. It must not be a reachable
// host: it belongs to an unrouted network of the United States Department of Defense.
var firstName = netip.MustParseAddr("22.64.0.1")

func newNames(allowed hosts, refuse func(Refusal)) *names {
	return &names{allowed: allowed, refuse: refuse, first: firstName, addresses: map[string]netip.Addr{}, byAddress: map[netip.Addr]string{}}
}

// address returns the address assigned to a name. ok is false if there are too many names.
func (n *names) address(name string) (_ netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, known := n.addresses[name]; known {
		return a, true
	}
	if len(n.addresses) >= maxNames {
		return netip.Addr{}, false
	}
	last := n.first.As4()
	count := len(n.addresses) + 1
	last[2], last[3] = byte(count>>8), byte(count)
	a := netip.AddrFrom4(last)
	n.addresses[name], n.byAddress[a] = a, name
	return a, true
}

// name returns the name to which an address was assigned, or "".
func (n *names) name(a netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byAddress[a]
}

// maxQuestion is the maximum size of a DNS query without extensions.
const maxQuestion = 1232

// answer returns the response to a DNS query of the program, or nil if the query is invalid. The
// query does not leave the machine. The name is resolved outside of the sandbox when the program
// connects.
func (n *names) answer(question []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	if err != nil || header.Response || header.OpCode != 0 {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	code := dnsmessage.RCodeSuccess
	var address netip.Addr
	switch _, err := netip.ParseAddr(name); {
	case err == nil || len(name) > 253 || !hostName.MatchString(name): // not a plain name: as a host in a profile, *.example.com for example has another meaning
		code = dnsmessage.RCodeNameError
		n.refuse(Refusal{What: "look up " + quoteName(name), Reason: "it is not a host name"})
	case name == "localhost":
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case !n.allowed.hasName(name):
		code = dnsmessage.RCodeNameError
		n.refuse(Refusal{What: "look up " + quoteName(name), Reason: "it is not among the hosts of the profile", Allow: []string{"--host", name}})
	default:
		var ok bool
		if address, ok = n.address(name); !ok {
			code = dnsmessage.RCodeServerFailure
			n.refuse(Refusal{What: "look up " + quoteName(name), Reason: fmt.Sprintf("the program asked for %d others before", maxNames)})
		}
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true, RCode: code})
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	if address.IsValid() && q.Class == dnsmessage.ClassINET && (q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeALL) {
		if b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, dnsmessage.AResource{A: address.As4()}) != nil {
			return nil
		}
	}
	message, err := b.Finish()
	if err != nil {
		return nil
	}
	return message
}

// resolverPort is the port of DNS queries.
const resolverPort = 53

// openNetwork starts the loopback interface of this network namespace, and routes packets for all
// addresses to it. It returns the sockets that receive them: first that for DNS queries, then one
// for each port. The local address of a connection is the address to which the program wanted to
// connect.
func openNetwork(ports []uint16) ([]*os.File, error) {
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("loopback interface: %w", err)
	}
	v6 := true
	if err := catchAll(unix.AF_INET); err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	if err := catchAll(unix.AF_INET6); err != nil {
		v6 = false // the system has no IPv6
	}
	resolver, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	files := []*os.File{os.NewFile(uintptr(resolver), "resolver")}
	if err := unix.Bind(resolver, &unix.SockaddrInet4{Port: resolverPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("resolver: %w", err)
	}
	for _, port := range ports {
		family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(port)})
		if !v6 {
			family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(port)}
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, os.NewFile(uintptr(fd), "listener"))
		if v6 {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
				return nil, err
			}
		}
		if err := unix.Bind(fd, address); err != nil {
			return nil, fmt.Errorf("port %d: %w", port, err)
		}
		if err := unix.Listen(fd, maxConnections); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// catchAll adds the route "local default dev lo".
func catchAll(family uint8) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const loopback = 1 // index of the interface lo in every network namespace
	m := binary.NativeEndian.AppendUint32(nil, unix.SizeofNlMsghdr+unix.SizeofRtMsg+8)
	m = binary.NativeEndian.AppendUint16(m, unix.RTM_NEWROUTE)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m = append(m, 1, 0, 0, 0, 0, 0, 0, 0) // sequence number and port
	m = append(m, family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0)
	m = binary.NativeEndian.AppendUint16(m, 8)
	m = binary.NativeEndian.AppendUint16(m, unix.RTA_OIF)
	m = binary.NativeEndian.AppendUint32(m, loopback)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 256)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return unix.EPROTO
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
