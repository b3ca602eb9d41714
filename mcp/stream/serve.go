package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/lines"
)

// MaxConnections is the maximum number of clients that [Serve] serves at the same time. Clients of
// one address get at most a quarter. A further client gets an error, and its connection is closed.
const MaxConnections = 1_000

// A client may take writeTimeout to read the data of one write, plus a second for each writeRate
// bytes.
const (
	writeTimeout = 30 * time.Second
	writeRate    = 64 << 10
)

const (
	turnAwayTime = 100 * time.Millisecond // time for sending the error to a client over the limit
	maxPause     = time.Second            // maximum pause between two attempts to accept
)

// Serve accepts clients from l, and serves each until it closes its connection or ctx is done. When
// ctx is done, running requests may continue for DrainTimeout, and then all connections are closed.
// Serve closes l. It returns after the last client was served. The error is nil if ctx is done.
//
// The listener decides which clients can connect. For example, the permissions of its file protect
// a Unix socket.
func Serve(ctx context.Context, l net.Listener, h mcp.Handler) error {
	return ServeWith(ctx, l, h, mcp.ServeOptions{})
}

// ServeWith is like [Serve], with options.
func ServeWith(ctx context.Context, l net.Listener, h mcp.Handler, o mcp.ServeOptions) error {
	s, err := newServer(h, o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	places := share.New(MaxConnections)
	for {
		conn, err := accept(ctx, l)
		if err != nil {
			return err
		}
		if conn == nil {
			return nil
		}
		caller := callerOf(conn)
		if !places.Take(caller) {
			conn.SetWriteDeadline(time.Now().Add(turnAwayTime))
			fault := jsonrpc.Errorf(jsonrpc.InternalError, "too many clients: at most %d at the same time", MaxConnections)
			conn.Write(append(jsonrpc.AppendError(nil, "", fault), '\n'))
			conn.Close()
			continue
		}
		clients.Go(func() {
			defer places.Give(caller)
			s.serve(share.With(ctx, caller), conn)
		})
	}
}

// callerOf returns the key of a client's share of the limits, by its address. All clients on this
// machine, and on a Unix socket, have the same share.
func callerOf(conn net.Conn) string {
	if at, is := conn.RemoteAddr().(*net.TCPAddr); is && !at.IP.IsLoopback() {
		return share.Key("", "", at.String())
	}
	return ""
}

// accept returns the next client. When ctx is done, it returns neither a client nor an error. It
// tries again after a temporary error, such as too many open files.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		conn, err := l.Accept()
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, nil
		case !passing(err):
			return nil, fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// passing reports whether accept may succeed later.
func passing(err error) bool {
	var system interface{ Temporary() bool }
	return errors.As(err, &system) && system.Temporary()
}

// ServeConn serves one client on conn until the client closes its side or ctx is done, and then
// closes conn. The error is nil after a normal end.
//
// ServeConn does not read from a client that does not read its responses. If conn has write
// deadlines, as sockets do, ServeConn gives up such a client after 30 seconds.
func ServeConn(ctx context.Context, conn io.ReadWriteCloser, h mcp.Handler) error {
	return ServeConnWith(ctx, conn, h, mcp.ServeOptions{})
}

// ServeConnWith is like [ServeConn], with options.
func ServeConnWith(ctx context.Context, conn io.ReadWriteCloser, h mcp.Handler, o mcp.ServeOptions) error {
	s, err := newServer(h, o)
	if err != nil {
		return err
	}
	return s.serveOne(ctx, conn)
}

// A server is the Edge for all connections, with the options.
type server struct {
	edge    *edge.Edge
	options mcp.ServeOptions
}

func newServer(h mcp.Handler, o mcp.ServeOptions) (*server, error) {
	s := &server{options: o}
	var err error
	s.edge, err = edge.Serving(h, s.options)
	return s, err
}

func (s *server) serve(ctx context.Context, conn net.Conn) {
	if err := s.serveOne(ctx, conn); err != nil {
		log := s.options.Logger
		if log == nil {
			log = slog.Default()
		}
		log.Debug("mcp: a client's connection broke", "error", err)
	}
}

func (s *server) serveOne(ctx context.Context, conn io.ReadWriteCloser) error {
	defer conn.Close()
	return lines.Serve(ctx, s.edge, conn, withDeadlines(conn), func() { interrupt(conn) }, s.options)
}

// withDeadlines returns a writer to conn. If conn has deadlines, the writer gives up a client that
// does not read.
func withDeadlines(conn io.Writer) io.Writer {
	if d, ok := conn.(deadlineWriter); ok {
		return timedWriter{d}
	}
	return conn
}

type deadlineWriter interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

type timedWriter struct{ conn deadlineWriter }

func (w timedWriter) Write(data []byte) (int, error) {
	limit := writeTimeout + time.Duration(len(data)/writeRate)*time.Second
	if err := w.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	n, err := w.conn.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the client read nothing for %v: %w", limit, err)
	}
	return n, err
}

// interrupt ends a blocked Read. If possible, conn can still be written.
func interrupt(conn io.Closer) {
	if d, ok := conn.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	conn.Close()
}
