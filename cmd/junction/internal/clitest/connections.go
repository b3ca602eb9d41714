package clitest

import (
	"net"
	"sync/atomic"
)

// A TestConn is a connection with a given remote address.
type TestConn struct {
	net.Conn
	From   string
	Closed atomic.Bool
}

func (c *TestConn) RemoteAddr() net.Addr {
	at, _ := net.ResolveTCPAddr("tcp", c.From)
	return at
}

func (c *TestConn) Close() error {
	c.Closed.Store(true)
	return nil
}
