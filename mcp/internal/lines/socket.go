package lines

import (
	"net"
	"strconv"

	"github.com/junction-mcp/junction/mcp"
)

// A socket is a Way for a stream, which may be a network connection.
type socket struct{ stream any }

// TransportInfo implements [edge.Way].
func (s socket) TransportInfo() mcp.TransportInfo {
	network, address, port := RemoteOf(s.stream)
	return mcp.TransportInfo{Network: network, Address: address, Port: port}
}

// RemoteOf returns the network of a connection, and the address of its other side if it has one.
// Any other stream counts as a pipe.
func RemoteOf(stream any) (network, address string, port int) {
	c, ok := stream.(net.Conn)
	if !ok || c.RemoteAddr() == nil {
		return "pipe", "", 0
	}
	network = c.RemoteAddr().Network()
	address = c.RemoteAddr().String()
	host, at, err := net.SplitHostPort(address)
	switch {
	case err == nil:
		port, _ = strconv.Atoi(at)
		return network, host, port
	case network == "pipe" || address == "@": // without a name
		address = ""
	}
	return network, address, 0
}
