package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// asBare makes the test binary be a server with one tool, and nothing around it.
const asBare = "JUNCTION_TEST_BARE"

func serveBare() error {
	s := mcp.NewServer("bare", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "echo"}, func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return http.Serve(l, streamable.Handler(s))
}
