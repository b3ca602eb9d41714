package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// resolverPort is where a program's resolver asks for names.
const resolverPort = 53

// openNetwork brings up the loopback interface of this network namespace, has it take the packets to every address there is, and returns
// the sockets at which they arrive: that of the resolver, then one for each port. Whoever holds them
// sees from the local address of a connection where the program wanted to.
func openNetwork(ports []uint16) ([]*os.File, error) {
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("loopback interface: %w", err)
	}
	v6 := true
	if err := catchAll(unix.AF_INET); err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	if err := catchAll(unix.AF_INET6); err != nil {
		v6 = false // the system has none
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
	const loopback = 1 // the index of lo in every network namespace
	m := binary.NativeEndian.AppendUint32(nil, unix.SizeofNlMsghdr+unix.SizeofRtMsg+8)
	m = binary.NativeEndian.AppendUint16(m, unix.RTM_NEWROUTE)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m = append(m, 1, 0, 0, 0, 0, 0, 0, 0) // sequence and port
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
