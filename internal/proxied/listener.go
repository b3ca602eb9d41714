package proxied

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/pires/go-proxyproto"
)

const (
	// proxyHeaderTime is how long a trusted proxy may take to send the header of a connection.
	proxyHeaderTime = 5 * time.Second
	// maxProxyHeaders is the largest number of connections that wait for it; further ones are
	// closed. Connections of others do not count.
	maxProxyHeaders = 1_000
	// refusedPause is the time between two logged lines about proxies without a header.
	refusedPause = time.Minute
)

// A Listener accepts connections that begin with a header of the PROXY protocol, version 1 or 2, if
// they come from a trusted proxy. Their remote address is that of the client. Trusted proxies must
// send the header. It is not read from others, whose connections stay as they are.
type Listener struct {
	net.Listener
	trusted Trusted
	log     *slog.Logger

	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
	slots    chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	waiting map[net.Conn]bool // connections whose header is being read
	said    time.Time
}

// accepted is the result of accepting a connection.
type accepted struct {
	conn net.Conn
	err  error
}

// Listen returns a Listener for the connections of l. Its Close waits for its goroutines.
func (t Trusted) Listen(l net.Listener, log *slog.Logger) *Listener {
	p := &Listener{Listener: l, trusted: t, log: log, accepted: make(chan accepted), closed: make(chan struct{}), slots: make(chan struct{}, maxProxyHeaders), waiting: map[net.Conn]bool{}}
	p.running.Go(p.run)
	return p
}

// IsEmpty reports whether no proxy is trusted.
func (t Trusted) IsEmpty() bool { return len(t.networks) == 0 && !t.sockets }

// run accepts connections until the Listener is closed.
func (l *Listener) run() {
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err != nil:
			if l.pass(accepted{nil, err}); errors.Is(err, net.ErrClosed) {
				return
			}
		case !l.trusted.trustsPeer(conn):
			l.pass(accepted{conn, nil})
		default:
			select {
			case l.slots <- struct{}{}:
				l.running.Go(func() {
					l.readHeader(conn)
					<-l.slots
				})
			default:
				conn.Close()
				l.refused(conn, errors.New("too many connections wait for it"))
			}
		}
	}
}

// pass gives a connection or an error to Accept. It closes the connection if the Listener is
// closed.
func (l *Listener) pass(a accepted) {
	select {
	case l.accepted <- a:
	case <-l.closed:
		if a.conn != nil {
			a.conn.Close()
		}
	}
}

// readHeader reads the header of a connection and passes the connection on.
func (l *Listener) readHeader(conn net.Conn) {
	l.mu.Lock()
	l.waiting[conn] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, conn)
	}()
	header := proxyproto.NewConn(conn, proxyproto.SetReadHeaderTimeout(proxyHeaderTime))
	header.ProxyHeaderPolicy = proxyproto.REQUIRE
	if header.ProxyHeader() == nil {
		conn.Close()
		l.refused(conn, errors.New("it is missing or malformed"))
		return
	}
	l.pass(accepted{header, nil})
}

// refused logs that a proxy sent no valid header, at most once in refusedPause.
func (l *Listener) refused(conn net.Conn, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.said) >= refusedPause {
		l.said = now
		l.log.Warn("junction: a connection of a trusted proxy was closed because of its header of the PROXY protocol", "from", conn.RemoteAddr().String(), "error", why)
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener and the connections that Accept has not returned, and waits for the
// goroutines.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { close(l.closed) })
	l.mu.Lock()
	for conn := range l.waiting {
		conn.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
	return err
}

// trustsPeer reports whether a connection comes from a trusted proxy.
func (t Trusted) trustsPeer(conn net.Conn) bool {
	at, isAddress := parseAddr(conn.RemoteAddr().String())
	return isAddress && t.trusts(at) || !isAddress && t.sockets
}
