package reach

import (
	"net"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp"
)

// Everywhere reports whether a listener is at all addresses of this machine.
func Everywhere(l net.Listener) (at *net.TCPAddr, is bool) {
	at, is = l.Addr().(*net.TCPAddr)
	return at, is && at.IP.IsUnspecified()
}

// ServeOptions are those of what serves clients.
func ServeOptions(a *cli.App) mcp.ServeOptions {
	o := mcp.ServeOptions{Logger: a.Logger(), Middleware: a.Around}
	if a.Traffic != nil {
		o.Wire = a.Traffic.Clients()
	}
	return o
}
