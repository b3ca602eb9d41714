package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// drainTime is how long running requests may continue after a signal.
const drainTime = 2 * time.Second

func main() {
	addr := flag.String("addr", "127.0.0.1:3000", "loopback `address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := listenAndServe(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "conformance server:", err)
		os.Exit(1)
	}
}

func listenAndServe(ctx context.Context, addr string) error {
	if err := loopback(addr); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "conformance server: http://%s/mcp\n", listener.Addr())
	return serve(ctx, listener)
}

// serve serves /mcp until ctx is done, and then lets running requests end.
func serve(ctx context.Context, listener net.Listener) error {
	long, err := tasks.New(tasks.Options{Tools: runsAsTasks()})
	if err != nil {
		return err
	}
	defer long.Close()
	endpoint := streamable.Handler(long.Middleware()(newServer()))
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		endpoint.Close()
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err = errors.Join(endpoint.Shutdown(drain), server.Shutdown(drain))
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// loopback returns an error for an address that other machines can reach.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if !outside.IsHere(host) {
		return fmt.Errorf("-addr %s: only loopback addresses, such as 127.0.0.1:3000", addr)
	}
	return nil
}
