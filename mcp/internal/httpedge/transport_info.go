package httpedge

import (
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/mcp"
)

// TransportInfo describes how a request arrived. The parameter session is the session's id, or
// empty.
func TransportInfo(r *http.Request, session string) mcp.TransportInfo {
	c := mcp.TransportInfo{Network: "tcp", Protocol: "http", ProtocolVersion: fmt.Sprintf("%d.%d", r.ProtoMajor, r.ProtoMinor), Session: redact.Digest(session)}
	if r.ProtoMinor == 0 && r.ProtoMajor > 1 {
		c.ProtocolVersion = strconv.Itoa(r.ProtoMajor)
	}
	if r.ProtoMajor == 3 {
		c.Network = "quic"
	}
	host, port, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil { // of a Unix socket
		c.Network = "unix"
		return c
	}
	c.Address = host
	c.Port, _ = strconv.Atoi(port)
	return c
}
