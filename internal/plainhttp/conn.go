package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	maxHead    = 1 << 20 // maximum number of bytes before the body of a response
	maxInterim = 5       // maximum number of interim responses before a response
)

var errHeadTooLong = fmt.Errorf("the headers of the response are longer than %d bytes", maxHead)

// A conn is a connection to a server. It carries one request at a time.
type conn struct {
	transport *transport
	net       net.Conn
	address   string
	since     time.Time // time at which it became idle
	r         *bufio.Reader
	w         *bufio.Writer
	left      int64 // number of bytes that may be read; see reading
	sent      int64 // number of bytes of the request that were written
	refused   error // reason why the request was not sent completely

	raw  syscall.RawConn               // nil if the connection cannot be checked with ask
	ask  func(descriptor uintptr) bool // checks whether the connection is open, and sets open
	open bool
}

func newConn(t *transport, nc net.Conn, address string) *conn {
	c := &conn{transport: t, net: nc, address: address}
	c.r, c.w = bufio.NewReader(reading{c}), bufio.NewWriter(writing{c})
	if s, ok := nc.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			c.raw = raw
			c.ask = func(descriptor uintptr) bool {
				c.open = hasNothing(descriptor)
				return true
			}
		}
	}
	return c
}

// isOpen reports whether an idle connection can be used again: the server has neither closed it nor
// sent unexpected data.
func (c *conn) isOpen() bool {
	return c.raw.Read(c.ask) == nil && c.open
}

// reading reads from a conn, and limits the number of bytes before the body.
type reading struct{ *conn }

func (r reading) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errHeadTooLong
	}
	n, err := r.net.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// writing writes to a conn, and counts the bytes.
type writing struct{ *conn }

func (w writing) Write(p []byte) (int, error) {
	n, err := w.net.Write(p)
	w.sent += int64(n)
	w.refused = err
	return n, err
}

// exchange sends a request and reads the response up to its body. It closes the connection if an
// error occurs.
func (c *conn) exchange(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	resp, err := c.roundTrip(req)
	if err != nil {
		stop()
		_ = c.net.Close()
		return nil, because(ctx, err)
	}
	b := &body{ReadCloser: resp.Body, ctx: ctx, stop: stop, last: resp.Close || c.refused != nil || resp.StatusCode == http.StatusSwitchingProtocols || c.raw == nil}
	b.conn.Store(c)
	if resp.Body == http.NoBody {
		b.end(true)
	}
	resp.Body = b
	return resp, nil
}

func (c *conn) roundTrip(req *http.Request) (*http.Response, error) {
	c.left, c.sent, c.refused = maxHead, 0, nil
	err := req.Write(c.w)
	if err == nil {
		err = c.w.Flush()
	}
	if err != nil {
		if c.refused == nil || c.sent == 0 {
			return nil, err
		}
		resp, none := c.response(req) // a server may respond and close the connection before it has read the request, for example to require a login
		if none != nil {
			return nil, fmt.Errorf("%w; %w", c.refused, none)
		}
		return resp, nil
	}
	return c.response(req)
}

// response reads a response up to its body. It skips interim responses.
func (c *conn) response(req *http.Request) (*http.Response, error) {
	for range maxInterim + 1 {
		resp, err := http.ReadResponse(c.r, req)
		if errors.Is(err, io.ErrUnexpectedEOF) && c.left == maxHead {
			return nil, fmt.Errorf("the server closed the connection without a response: %w", io.EOF)
		}
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64
			return resp, nil
		}
	}
	return nil, fmt.Errorf("expected a response after at most %d that announce it", maxInterim)
}

// because returns the cause of a failed request: the cause of ctx if it is done, and otherwise err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// A body is the body of a response. When it has been read to its end, it returns its connection to
// the transport.
type body struct {
	io.ReadCloser
	ctx  context.Context
	stop func() bool
	last bool                 // no further request may use the connection
	conn atomic.Pointer[conn] // nil after the end of the body

	closed atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	b.end(err == io.EOF)
	if err != io.EOF {
		err = because(b.ctx, err)
	}
	return n, err
}

// Close closes the connection, unless the body was read to its end.
func (b *body) Close() error {
	b.closed.Store(true)
	b.end(false)
	return nil
}

func (b *body) end(whole bool) {
	c := b.conn.Swap(nil)
	if c == nil {
		return
	}
	if b.stop() && whole && !b.last && c.r.Buffered() == 0 {
		c.transport.keep(c)
		return
	}
	_ = c.net.Close()
}
