package up

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
)

// unixPrefix is the prefix of an address that is a Unix socket.
const unixPrefix = "unix:"

// A unixSocket is a listener at a socket file. Close removes the file.
type unixSocket struct {
	*net.UnixListener
	path   string
	remove sync.Once
}

// listenUnix listens at a socket file that only this user can open. It replaces the socket of a
// process that has ended, but never the socket of a running process or another kind of file.
func listenUnix(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("%s exists and is not a socket; name another file", path)
	default:
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s is in use, perhaps by another junction (junction status lists the running ones)", path)
		}
	}
	l, err := cli.ListenPrivate(path)
	if err != nil {
		return nil, err
	}
	return &unixSocket{UnixListener: l, path: path}, nil
}

// Addr implements [net.Listener].
func (l *unixSocket) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close implements [net.Listener].
func (l *unixSocket) Close() error {
	l.remove.Do(func() { _ = os.Remove(l.path) })
	return l.UnixListener.Close()
}

// ListenAt listens at HOST:PORT or unix:FILE. An IPv4 address is not served over IPv6: 0.0.0.0
// means all IPv4 addresses of this machine.
func ListenAt(p place.Place, address string) (net.Listener, error) {
	if path, is := strings.CutPrefix(address, unixPrefix); is {
		return listenUnix(p.Path(path))
	}
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if at, err := netip.ParseAddr(host); err == nil && at.Is4() {
			network = "tcp4"
		}
	}
	return net.Listen(network, address)
}
