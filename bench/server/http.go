package main

import (
	"io"
	"net"
	"net/http"
	"os"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// serveHTTP serves h over HTTP until standard input ends.
func serveHTTP(addr string, h mcp.Handler, stateless bool) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.HandlerWith(h, streamable.Options{Stateless: stateless}))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, mux)
}
