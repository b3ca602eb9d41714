package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A piped listener accepts the connections of dial.
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

// servedInTime serves a console within a bubble of synctest; dial returns a connection to it.
func servedInTime(t *testing.T) (dial func() net.Conn) {
	_, dial = servedConsole(t)
	return dial
}

func servedConsole(t *testing.T) (c *Console, dial func() net.Conn) {
	c = New()
	l := &piped{conns: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- c.Serve(ctx, l, log.New(io.Discard, "", 0)) }()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return c, func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		l.conns <- theirs
		return ours
	}
}

// A browser that was not let in and announces a body without sending it must not keep a connection.
func TestConnectionsWithoutALinkEnd(t *testing.T) {
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

// Every user of the machine can reach the console, and its server may do more than serve it. So
// connections are limited, and the oldest one without access makes room.
func TestConnectionsBeyondTheLimitMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, dial := servedConsole(t)
		get := func(conn net.Conn, path string) int {
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:1\r\nCookie: %s=%s\r\n\r\n", path, cookieName, c.cookie); err != nil {
				return 0
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return 0
			}
			_, _ = io.Copy(io.Discard, response.Body)
			return response.StatusCode
		}
		mine := dial()
		if got := get(mine, c.path); got != http.StatusOK {
			t.Fatalf("the page is answered with %d", got)
		}
		var silent []net.Conn
		isOpen := func(conn net.Conn) bool {
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := conn.Read(make([]byte, 1))
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		for range 3 * maxGuests {
			silent = append(silent, dial())
		}
		synctest.Wait()
		open := 0
		for _, conn := range silent {
			if isOpen(conn) {
				open++
			}
		}
		if open != maxGuests || isOpen(silent[0]) || !isOpen(silent[len(silent)-1]) {
			t.Errorf("of %d connections %d are open; the oldest: %t, the newest: %t", len(silent), open, isOpen(silent[0]), isOpen(silent[len(silent)-1]))
		}
		if got := get(mine, c.path); got != http.StatusOK {
			t.Errorf("the page is answered with %d, over a connection that was let in", got)
		}
		if got := get(dial(), c.path); got != http.StatusOK {
			t.Errorf("the page is answered with %d, over a new connection", got)
		}
	})
}
