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
	maxHead    = 1 << 20 // bytes of what stands before the body of a response
	maxInterim = 5       // responses that announce another one
)

var errHeadTooLong = fmt.Errorf("the headers of the response are longer than %d bytes", maxHead)

// A conn is a connection to a server. One request has it at a time.
type conn struct {
	transport *transport
	net       net.Conn
	address   string
	since     time.Time // it is idle
	r         *bufio.Reader
	w         *bufio.Writer
	left      int64 // bytes that may be read
	sent      int64 // bytes of the request
	refused   error // why not all of it was sent

	raw  syscall.RawConn               // nil: it cannot be asked whether it is open
	ask  func(descriptor uintptr) bool // sets open
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

// isOpen reports whether the server has neither closed an idle connection nor sent what nobody asked for.
func (c *conn) isOpen() bool {
	return c.raw.Read(c.ask) == nil && c.open
}

// reading limits what is read from a conn.
type reading struct{ *conn }

func (r reading) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errHeadTooLong
	}
	n, err := r.net.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// writing counts what is written to a conn.
type writing struct{ *conn }

func (w writing) Write(p []byte) (int, error) {
	n, err := w.net.Write(p)
	w.sent += int64(n)
	w.refused = err
	return n, err
}

// exchange sends a request and reads the head of the response. Where it fails the connection is closed.
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
		resp, none := c.response(req) // a server may answer and close before it reads all, such as one that wants a login
		if none != nil {
			return nil, fmt.Errorf("%w; %w", c.refused, none)
		}
		return resp, nil
	}
	return c.response(req)
}

// response reads the head of a response.
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

// because returns why a request came to nothing.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// A body gives its connection back when it was read to its end.
type body struct {
	io.ReadCloser
	ctx  context.Context
	stop func() bool
	last bool                 // the connection serves no further request
	conn atomic.Pointer[conn] // nil when the body has ended

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

// Close closes the connection, where the body was not read to its end.
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
