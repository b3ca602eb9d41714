package up

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// A HeadListener searches the heads of requests for forms that a proxy in front could parse in
// another way. Package net/http accepts such requests. Their connections are closed after the
// response.
type HeadListener struct{ net.Listener }

func (l HeadListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headConn{Conn: c}, nil
}

// A headConn inspects the heads of requests while they are read.
type headConn struct {
	net.Conn
	next atomic.Bool // set after a response, when the next bytes begin another head

	// The state of the current head. Only Read uses it.
	over         bool // whether the head has ended
	line         [len("transfer-encoding:")]byte
	length       int // number of bytes of the current line so far
	cr           bool
	sized, coded bool

	ambiguous atomic.Bool // set by a bare LF, or by both Content-Length and Transfer-Encoding
}

// Read implements [net.Conn].
func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.next.Swap(false) {
		c.over, c.length, c.cr, c.sized, c.coded = false, 0, false, false, false
	}
	if !c.over && n > 0 {
		c.look(p[:n])
	}
	return n, err
}

func (c *headConn) look(p []byte) {
	for len(p) > 0 && !c.over {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if c.length < len(c.line) {
			copy(c.line[c.length:], part)
		}
		c.length += len(part)
		if len(part) > 0 {
			c.cr = part[len(part)-1] == '\r'
		}
		if end < 0 {
			return
		}
		c.endLine()
		p = p[end+1:]
	}
}

func (c *headConn) endLine() {
	if !c.cr {
		c.ambiguous.Store(true)
	}
	begin := c.line[:min(c.length, len(c.line))]
	c.sized = c.sized || hasName(begin, "content-length:")
	c.coded = c.coded || hasName(begin, "transfer-encoding:")
	if c.sized && c.coded {
		c.ambiguous.Store(true)
	}
	c.over = c.length == 0 || c.length == 1 && c.cr
	c.length, c.cr = 0, false
}

func hasName(line []byte, name string) bool {
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name))
}

type headKey struct{}

// WatchHeads makes a server close a connection after a request that could be parsed in two ways.
func WatchHeads(s *http.Server) {
	inner := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if head, is := c.(*headConn); is {
			ctx, c = context.WithValue(ctx, headKey{}, head), head.Conn
		}
		if inner != nil {
			ctx = inner(ctx, c)
		}
		return ctx
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if head, is := c.(*headConn); is && state == http.StateIdle {
			head.next.Store(true)
		}
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if head, is := r.Context().Value(headKey{}).(*headConn); is && head.ambiguous.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
