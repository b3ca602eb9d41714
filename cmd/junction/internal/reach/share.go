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
	TrafficEnd  = ".traffic"       // ends the name of the socket at which a process shows its messages
	WatchingEnd = ".watching"      // ends the name of the socket that says that a process wants to see those of others
	trafficTime = 10 * time.Second // how long one who watches may take to read a message
	lastTime    = time.Second      // the same where the process ends
	MaxWatchers = 8                // of one process at a time
	maxLines    = 64 << 10         // bytes of messages that are written to one who watches together, but for a larger one
	// firstTime is how long a process that begins waits for those that want to see its first messages.
	firstTime = 2 * time.Second
)

// What one who watches asks for, in one byte, before anything is shown.
const (
	WantsMessages = 'm'
	WantsNotes    = 'n' // and messages
)

// tooManyWatch is what one too many gets: the line with the server that is all the process serves, empty, and one in place of messages.
const tooManyWatch = "\n" + `{"busy":true}` + "\n"

// MarkWatching says to processes that begin that somebody wants to see their messages: by a socket, as what is left of one
// whose process was killed refuses. The function that it returns ends that.
func MarkWatching(p place.Place) (unmark func()) {
	l, path, err := cli.ListenForMe(p, WatchingEnd)
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

// isWatching reports whether somebody wants to see the messages of processes that begin.
func isWatching(dir string) bool {
	marks, _ := filepath.Glob(filepath.Join(dir, "*"+WatchingEnd)) // of a pattern that is well formed
	for _, path := range marks {
		if conn, err := cli.DialMine(context.Background(), path); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// ShareTraffic lets junction traffic see the messages of this process, through a socket that only this user can reach; where
// there can be none, it does without. serves is the server that is all this process serves; empty: any number. The function that
// it returns ends that.
func ShareTraffic(ctx context.Context, a *cli.App, serves string) (end func()) {
	l, path, err := cli.ListenForMe(a.Place, TrafficEnd)
	if err != nil {
		a.Logger().Debug("junction traffic cannot see this process", "error", err)
		return func() {}
	}
	cli.RemoveLeft(ctx, filepath.Dir(path))
	log := &traffic.Log{}
	a.Traffic = log
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
				_, _ = conn.Read(make([]byte, 1)) // what is left unread resets the connection, and what is written is lost
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

// Within makes a server that ships with junction as a part of this process. What is asked of it is shown as of any other.
func Within(ctx context.Context, a *cli.App, name string, o Shipping) (mcp.Handler, error) {
	h, err := Shipped(ctx, a, name, o)
	if err != nil || a.Traffic == nil {
		return h, err
	}
	return a.Traffic.Handler(name, h), nil
}

// ShowTraffic writes messages to one who watches, a line each, until they go away or ctx is done. The first line is what the
// process serves, and says that what goes from then on is seen.
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
	go func() { // they say nothing more, so that reading ends when they go
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	watch := log.Join(wants[0] == WantsNotes)
	select {
	case came <- struct{}{}:
	default:
	}
	lines := []byte(plaintext.Line(serves, cli.MaxSaid) + "\n")
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
		cancel() // watch must be called
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
