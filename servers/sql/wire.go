package sql

import (
	"context"
	"errors"
	"net"
	"time"
)

// maxWire is the maximum number of bytes read from a database for one statement.
const maxWire = 64 << 20

// wireTime is the time that a connection lives beyond the time limit of its statement, to cancel
// the statement.
const wireTime = 10 * time.Second

// A dialer connects to a database. Each connection runs one statement, so limits of a connection
// apply to the statement, independent of the driver.
type dialer struct{ timeout time.Duration }

// DialContext connects to a database.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	end := time.Now().Add(d.timeout + wireTime)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var n net.Dialer
	c, err := n.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	b := &boundedConn{Conn: c, end: end, left: maxWire}
	return b, b.SetDeadline(end)
}

// Dial implements the MySQL driver's interface.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements the MySQL driver's interface.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// A boundedConn ends at a deadline or after a number of bytes.
type boundedConn struct {
	net.Conn
	end  time.Time
	left int
}

// Read reads from the connection. It returns an error after the limit of bytes.
func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the database sent more than 64 MiB for one statement; select fewer or shorter columns")
	}
	n, err := b.Conn.Read(p)
	b.left -= n
	return n, err
}

// SetDeadline sets a deadline, which is never later than that of the connection.
func (b *boundedConn) SetDeadline(t time.Time) error {
	if t.IsZero() || t.After(b.end) {
		t = b.end
	}
	return b.Conn.SetDeadline(t)
}
