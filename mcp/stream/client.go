package stream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
)

// ClientOptions holds the settings of a client transport. The zero value of each field is its
// default.
type ClientOptions struct {
	// MaxMessage is the maximum size of an accepted message in bytes. The default is 16 MiB.
	MaxMessage int
	// Logger receives records of the server's faults. The default is slog.Default().
	Logger *slog.Logger
}

func (o ClientOptions) connect(rw io.ReadWriteCloser, name string) link.Link {
	return pipe.New(rw, pipe.Options{Name: name, MaxMessage: o.MaxMessage, Logger: o.Logger})
}

// Dial returns a transport that connects to a socket. The network is "unix", "tcp", or any other
// network of [net.Dial] with streams. Each Connect opens a new connection.
func Dial(network, address string) mcp.Transport {
	return DialWith(network, address, ClientOptions{})
}

// DialWith is like [Dial], with options.
func DialWith(network, address string, o ClientOptions) mcp.Transport {
	return &dialed{network: network, address: address, options: o}
}

type dialed struct {
	network, address string
	options          ClientOptions
}

// Connect implements [mcp.Transport].
func (d *dialed) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, d.Link, o)
}

func (d *dialed) Link(ctx context.Context) (link.Link, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d, err)
	}
	return d.options.connect(conn, d.String()), nil
}

// String returns the server's address, such as "unix:/run/weather.sock".
func (d *dialed) String() string {
	return plaintext.Line(d.network+":"+d.address, 200)
}

// Over returns a transport over an existing connection. The parameter name is the server's name in
// errors. Connect can be called once; the resulting connection owns rwc and closes it. Close must
// end a blocked Read or Write of rwc.
func Over(rwc io.ReadWriteCloser, name string) mcp.Transport {
	return OverWith(rwc, name, ClientOptions{})
}

// OverWith is like [Over], with options.
func OverWith(rwc io.ReadWriteCloser, name string, o ClientOptions) mcp.Transport {
	return &over{rwc: rwc, name: plaintext.Line(name, 200), options: o}
}

type over struct {
	rwc     io.ReadWriteCloser
	name    string
	options ClientOptions
	used    atomic.Bool
}

// Connect implements [mcp.Transport].
func (o *over) Connect(ctx context.Context, options mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, o.Link, options)
}

func (o *over) Link(ctx context.Context) (link.Link, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect to %s: %w", o, context.Cause(ctx))
	}
	if o.used.Swap(true) {
		return nil, fmt.Errorf("connect to %s: its one connection was used before; open another and call stream.Over again", o)
	}
	return o.options.connect(o.rwc, o.name), nil
}

// String returns the name.
func (o *over) String() string { return o.name }
