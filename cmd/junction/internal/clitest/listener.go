package clitest

import (
	"context"
	"net"
)

// A PipeListener accepts the connections sent on Conns, until it is closed.
type PipeListener struct {
	Conns  chan net.Conn
	Closed context.Context
	End    context.CancelFunc
}

func (l PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.Conns:
		return c, nil
	case <-l.Closed.Done():
		return nil, net.ErrClosed
	}
}

func (l PipeListener) Close() error { l.End(); return nil }

func (PipeListener) Addr() net.Addr { return &net.TCPAddr{} }
