package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
	"golang.org/x/sys/unix"
)

// A network connects a sandbox to hosts that the profile allows. It answers the DNS queries of the
// program and carries its connections.
type network struct {
	reach
	names *names

	ctx       context.Context
	cancel    context.CancelFunc
	resolver  net.PacketConn
	listeners []net.Listener
	slots     chan struct{} // limits the number of connections
	running   sync.WaitGroup
}

// serveNetwork starts a network with the sockets that the launcher opened: first the resolver's,
// then the listeners.
func (s *Sandbox) serveNetwork(files []*os.File, refuse func(Refusal)) (*network, error) {
	r := s.newReach(refuse)
	ctx, cancel := context.WithCancel(context.Background())
	n := &network{reach: r, names: newNames(r.allowed, refuse), ctx: ctx, cancel: cancel, slots: make(chan struct{}, maxConnections)}
	var err error
	for i, f := range files {
		if i == 0 {
			n.resolver, err = net.FilePacketConn(f)
		} else {
			var l net.Listener
			if l, err = net.FileListener(f); err == nil {
				n.listeners = append(n.listeners, l)
			}
		}
		if err != nil {
			break
		}
	}
	for _, f := range files {
		f.Close()
	}
	if err != nil || n.resolver == nil {
		n.close()
		return nil, fmt.Errorf("network of the sandbox: %w", err)
	}
	n.running.Go(n.answer)
	for _, l := range n.listeners {
		n.running.Go(func() { n.accept(l) })
	}
	return n, nil
}

// close ends all connections and waits for them. The program must have ended.
func (n *network) close() {
	n.cancel()
	for _, l := range n.listeners {
		l.Close()
	}
	if n.resolver != nil {
		n.resolver.SetDeadline(time.Unix(1, 0)) // not closed, because the program's last queries may still be in it
	}
	n.running.Wait()
	if n.resolver != nil {
		n.nameLast()
		n.resolver.Close()
	}
}

// nameLast reports refusals for the remaining queries. It does not respond to them.
func (n *network) nameLast() {
	waiting, ok := n.resolver.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := waiting.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		buf := make([]byte, maxQuestion)
		for { // ends, because the kernel keeps a limited number
			size, _, err := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			n.names.answer(buf[:size])
		}
	})
}

func (n *network) answer() {
	buf := make([]byte, maxQuestion)
	for {
		size, from, err := n.resolver.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := n.names.answer(buf[:size]); reply != nil {
			n.resolver.WriteTo(reply, from)
		}
	}
}

func (n *network) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if n.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select { // too many open files, for a moment
			case <-n.ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case n.slots <- struct{}{}:
		default:
			n.refuse(Refusal{What: "connect to one more host", Reason: fmt.Sprintf("the program has %d others", maxConnections)})
			reset(conn)
			continue
		}
		n.running.Go(func() {
			defer func() { <-n.slots }()
			n.carry(conn)
		})
	}
}

// reset closes a connection in such a way that the port seems to have no listener.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// carry connects one of the program's connections to its host and copies the data.
func (n *network) carry(inside net.Conn) {
	outside, err := n.connect(inside)
	if err != nil {
		reset(inside)
		return
	}
	stop := context.AfterFunc(n.ctx, func() {
		inside.Close()
		outside.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { pass(outside, inside) })
	pass(inside, outside)
	both.Wait()
	inside.Close()
	outside.Close()
}

// connect connects to the target of a connection. The target is the connection's local address.
func (n *network) connect(inside net.Conn) (net.Conn, error) {
	meant, err := netip.ParseAddrPort(inside.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	address, port := meant.Addr().Unmap(), meant.Port()
	ctx, cancel := context.WithTimeout(n.ctx, connectTime)
	defer cancel()
	name, err := n.admit(address, port)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return n.dial(ctx, "tcp", netip.AddrPortFrom(address, port).String())
	}
	return n.resolved(ctx, name, port)
}

// admit returns an error if the profile does not allow an address and port. Otherwise it returns
// the name to which the address was assigned, or "".
func (n *network) admit(address netip.Addr, port uint16) (name string, err error) {
	name = n.names.name(address)
	switch {
	case name == "" && !n.allowed.allowsAddress(address, port):
		return "", n.reject(address.String(), port, "it is not among the hosts of the profile")
	case name != "" && !n.allowed.allowsName(name, port):
		return "", n.reject(name, port, "the profile allows only other ports of this host")
	}
	return name, nil
}

// learn records the host to which a program is about to connect. It is called even if the port has
// no listener and the kernel will refuse the connection. It ignores addresses at which the program
// itself listens.
func (n *network) learn(r *Record, a watch.Access, listens func(port uint16) bool) {
	at, err := netip.ParseAddrPort(a.Address)
	if a.Kind != watch.Connect || err != nil || at.Port() == 0 || at.Port() == resolverPort {
		return
	}
	host := n.names.name(at.Addr())
	if host == "" {
		if at.Addr().IsLoopback() && listens(at.Port()) {
			return
		}
		host = at.Addr().String()
	}
	r.seeHost(hostText(host, at.Port()))
}

// An unreachable reports connections that fail before the network sees them. At most ports the
// sandbox has no listener, and the kernel refuses the connection. At the other ports a program may
// end before its connection is examined.
type unreachable struct {
	launcher int
	ports    []uint16 // ports at which the network listens
	network  *network
}

// see is called just before a program connects.
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
		host, reason = name, "the profile allows only other ports of this host"
	} else if address.IsLoopback() {
		if listensIn(u.launcher, at.Port()) { // the program's own server
			return
		}
		reason = "the services of this machine cannot be reached"
	}
	u.network.reject(host, at.Port(), reason)
}

// listensIn reports whether a process in a launcher's sandbox listens at a TCP port.
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
