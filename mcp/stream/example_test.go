package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A server on a socket. mcp.Dial(ctx, stream.Dial("tcp", address)) returns a client for it.
func ExampleServe() {
	s := mcp.NewServer("weather", "1.0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- stream.Serve(ctx, l, s) }()

	client, err := mcp.Dial(ctx, stream.Dial("tcp", l.Addr().String()))
	fmt.Println(err)
	client.Close()
	cancel()
	fmt.Println(errors.Is(<-served, nil))
	// Output:
	// <nil>
	// true
}
