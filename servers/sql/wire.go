package sql

import (
	"context"
	"errors"
	"net"
	"time"
)

// maxWire is how many bytes are read of a database for one statement.
const maxWire = 64 << 20

// wireTime is how long a connection may live on after the time of its statement is over, to cancel it.
const wireTime = 10 * time.Second

// A dialer connects to a database. Each connection is for one statement, so time and bytes of a connection
// are those of the statement, whatever the driver does.
type dialer struct{ timeout time.Duration }

// DialContext connects.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	end := time.Now().Add(d.timeout + wireTime)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var n net.Dialer
	c, err := n.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	b := &bounded{Conn: c, end: end, left: maxWire}
	return b, b.SetDeadline(end)
}

// Dial is for the driver's interface.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout is for the driver's interface.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// A bounded connection ends at a time and after a number of bytes.
type bounded struct {
	net.Conn
	end  time.Time
	left int
}

// Read reads as long as there is something left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the database sent more than 64 MiB for one statement; select fewer or shorter columns")
	}
	n, err := b.Conn.Read(p)
	b.left -= n
	return n, err
}

// SetDeadline sets a deadline, at most the one that the connection has.
func (b *bounded) SetDeadline(t time.Time) error {
	if t.IsZero() || t.After(b.end) {
		t = b.end
	}
	return b.Conn.SetDeadline(t)
}
