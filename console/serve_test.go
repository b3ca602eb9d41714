package console

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A piped listener accepts what dial gives it.
type piped struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *piped) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *piped) Close() error {
	close(l.closed)
	return nil
}

func (l *piped) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// servedInTime serves a console within a bubble of synctest; dial is a connection to it.
func servedInTime(t *testing.T) (dial func() net.Conn) {
	l := &piped{conns: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- New().Serve(ctx, l, log.New(io.Discard, "", 0)) }()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		l.conns <- theirs
		return ours
	}
}

// Who was not let in announces a body, sends none of it, and keeps nothing of the console for that.
func TestAConnectionOfWhoWasNotLetInEnds(t *testing.T) {
	for _, head := range []string{
		"POST / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 1000\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := servedInTime(t)()
			began := time.Now()
			if _, err := io.WriteString(conn, head); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode < 400 {
				t.Errorf("%q gets %d, %v", head, response.StatusCode, err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Hour))
			if _, err := in.ReadByte(); err != io.EOF || time.Since(began) > readHeaderTimeout {
				t.Errorf("after %q the connection is there after %v: %v", head, time.Since(began), err)
			}
		})
	}
}

// Everybody on the machine reaches the console, and what serves it may do more than that.
func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := servedInTime(t)
		first := dial()
		for range maxConnections - 1 {
			dial()
		}
		connected := make(chan net.Conn, 1)
		go func() { connected <- dial() }()
		synctest.Wait()
		if len(connected) > 0 {
			t.Errorf("there is one more than %d", maxConnections)
		}
		first.Close()
		(<-connected).Close()
	})
}
