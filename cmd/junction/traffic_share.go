package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

const (
	trafficEnd  = ".traffic"       // ends the name of the socket at which a process shows its messages
	trafficTime = 10 * time.Second // how long one who watches may take to read a message
	maxWatchers = 8                // of one process at a time
)

// shareTraffic lets junction traffic see the messages of this process, through a socket that only this user can reach; where
// there can be none, it does without. The function that it returns ends that.
func (a *app) shareTraffic(ctx context.Context) (end func()) {
	l, path, err := listenForMe(trafficEnd)
	if err != nil {
		a.logger().Debug("junction traffic cannot see this process", "error", err)
		return func() {}
	}
	log := &traffic.Log{}
	a.traffic = log
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() {
		places := make(chan struct{}, maxWatchers)
		for {
			conn, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				time.Sleep(acceptPause) // such as too many open files, which passes
				continue
			}
			select {
			case places <- struct{}{}:
				watchers.Go(func() {
					defer func() { <-places }()
					showTraffic(ctx, log, conn)
				})
			default:
				conn.Close()
			}
		}
	})
	return func() {
		os.Remove(path)
		l.Close()
		cancel()
		watchers.Wait()
	}
}

// showTraffic writes messages to one who watches, a line each, until they go away or ctx is done.
func showTraffic(ctx context.Context, log *traffic.Log, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	gone := make(chan struct{})
	go func() { // they say nothing, so that reading ends when they go
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	lines := json.NewEncoder(conn)
	lines.SetEscapeHTML(false)
	_ = log.Watch(ctx, func(e *traffic.Event) error {
		_ = conn.SetWriteDeadline(time.Now().Add(trafficTime))
		return lines.Encode(e)
	})
	conn.Close()
	<-gone
}
