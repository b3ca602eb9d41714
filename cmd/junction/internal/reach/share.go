package reach

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

const (
	TrafficSuffix = ".traffic"       // ends the name of the socket that sends the messages of a process
	WatcherSuffix = ".watching"      // ends the name of the socket of a process that wants to see the messages of others
	trafficTime   = 10 * time.Second // limits how long a watcher may take to read a message
	lastTime      = time.Second      // the same limit when the process ends
	MaxWatchers   = 8                // of one process at a time
	maxLines      = 64 << 10         // bytes of messages written at once, except for a larger one
	// firstTime is how long a process waits at its start for watchers of its first messages.
	firstTime = 2 * time.Second
)

// The byte that a watcher sends before the process sends anything.
const (
	WantsMessages = 'm'
	WantsNotes    = 'n' // messages and notes
)

// tooManyWatch is sent to a watcher beyond the limit: an empty first line, and an object in place
// of messages.
const tooManyWatch = "\n" + `{"busy":true}` + "\n"

// AnnounceWatcher shows other processes, by a socket, that this one wants to see their first messages.
// A socket is used because that of a killed process refuses connections. The caller must call
// unmark.
func AnnounceWatcher(p place.Place) (unmark func()) {
	l, path, err := cli.ListenSocket(p, WatcherSuffix)
	if err != nil {
		return func() {} // the first messages may be missed
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cli.AcceptEach(l, func(conn net.Conn) { conn.Close() })
	}()
	return func() {
		os.Remove(path)
		l.Close()
		<-ended
	}
}

// isWatching reports whether a process wants to see the messages of those that start.
func isWatching(dir string) bool {
	marks, _ := filepath.Glob(filepath.Join(dir, "*"+WatcherSuffix)) // the pattern is valid
	for _, path := range marks {
		if conn, err := cli.DialSocket(context.Background(), path); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// ShareTraffic sends the messages of this process to junction traffic through a socket that only
// this user can open. If it cannot listen, it logs that and does nothing. serves is the only server
// of this process, or empty. The caller must call end.
func ShareTraffic(ctx context.Context, a *cli.App, serves string) (end func()) {
	l, path, err := cli.ListenSocket(a.Place, TrafficSuffix)
	if err != nil {
		a.Logger().Debug("junction traffic cannot see this process", "error", err)
		return func() {}
	}
	cli.RemoveStaleSockets(ctx, filepath.Dir(path))
	log := &traffic.Log{}
	a.Launch.Traffic = log
	ctx, cancel := context.WithCancel(ctx)
	came := make(chan struct{}, MaxWatchers)
	var watchers sync.WaitGroup
	watchers.Go(func() {
		places := make(chan struct{}, MaxWatchers)
		cli.AcceptEach(l, func(conn net.Conn) {
			select {
			case places <- struct{}{}:
				watchers.Go(func() {
					defer func() { <-places }()
					ShowTraffic(ctx, log, serves, conn, came)
				})
			default:
				_ = conn.SetDeadline(time.Now().Add(cli.AcceptPause))
				_, _ = conn.Read(make([]byte, 1)) // unread bytes would reset the connection and lose what is written
				_, _ = conn.Write([]byte(tooManyWatch))
				conn.Close()
			}
		})
	})
	if isWatching(filepath.Dir(path)) {
		late := time.NewTimer(firstTime)
		defer late.Stop()
		select {
		case <-came:
		case <-late.C:
		}
	}
	return func() {
		os.Remove(path)
		l.Close()
		cancel()
		watchers.Wait()
	}
}

// SharedHandler returns a server that ships with junction as a part of this process. Its messages are
// shared like those of other servers.
func SharedHandler(ctx context.Context, a *cli.App, name string, o Shipping) (mcp.Handler, error) {
	h, err := Shipped(ctx, a, name, o)
	if err != nil || a.Launch.Traffic == nil {
		return h, err
	}
	return a.Launch.Traffic.Handler(name, h), nil
}

// ShowTraffic writes messages to a watcher, one line each, until the connection ends or ctx is
// done. The first line is serves; messages from then on are written. It sends to came once the
// watcher is registered.
func ShowTraffic(ctx context.Context, log *traffic.Log, serves string, conn net.Conn, came chan<- struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	var wants [1]byte
	_ = conn.SetReadDeadline(time.Now().Add(trafficTime))
	if _, err := conn.Read(wants[:]); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	go func() { // watchers send nothing more, so reading ends with the connection
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	watch := log.Join(wants[0] == WantsNotes)
	select {
	case came <- struct{}{}:
	default:
	}
	lines := []byte(plaintext.Line(serves, cli.MaxStderrLine) + "\n")
	write := func() error {
		within := trafficTime
		if ctx.Err() != nil {
			within = lastTime
		}
		_ = conn.SetWriteDeadline(time.Now().Add(within))
		_, err := conn.Write(lines)
		lines = lines[:0]
		return err
	}
	if write() != nil {
		cancel() // watch must still be called
	}
	_ = watch(ctx, func(events []*traffic.Event) error {
		for _, e := range events {
			lines = append(e.AppendJSON(lines), '\n')
			if len(lines) < maxLines {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
		return write()
	})
	conn.Close()
	<-gone
}
