package watch

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/traffic"
)

// A TrafficFollower holds the functions that [FollowTraffic] calls, one at a time. Each except
// Event may be nil.
type TrafficFollower struct {
	notes bool                                   // whether notes are wanted in addition to messages
	not   int                                    // id of a process that is not followed; 0 for none
	Began func(processes int) error              // called once with the number of running processes
	busy  func(pid int)                          // called for a process with too many watchers
	Event func(e ShownEvent, several bool) error // called for each message; several is set if there is more than one process
	Ended func(pid int)                          // called for a process that sends no more messages
}

// FollowTraffic calls f with the messages of the processes with the given pids, or of all current
// and new processes. It returns an error of f, or the cause of ctx when ctx is done.
func FollowTraffic(ctx context.Context, p place.Place, pids []string, f TrafficFollower) error {
	dir, err := cli.StatusFolder(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{ctx: ctx, wants: reach.WantsMessages, asked: make(chan responded), events: make(chan ShownEvent), ended: make(chan string), asking: map[string]bool{}, seen: map[string]bool{}}
	if f.notes {
		w.wants = reach.WantsNotes
	}
	defer w.readers.Wait()
	defer cancel()
	look := time.NewTicker(lookPause)
	defer look.Stop()
	defer reach.AnnounceWatcher(p)()
	if f.not > 0 {
		w.seen[filepath.Join(dir, strconv.Itoa(f.not)+reach.TrafficSuffix)] = true
	}
	w.ask(unwatched(dir, pids, w.seen))
	for len(w.asking) > 0 && ctx.Err() == nil {
		select {
		case a := <-w.asked:
			w.join(a)
		case <-ctx.Done():
		}
	}
	if f.Began != nil {
		if err := f.Began(len(w.seen)); err != nil {
			return err
		}
	}
	for {
		select {
		case e := <-w.events:
			switch {
			case !e.Busy:
				if err := f.Event(e, len(w.seen) > 1); err != nil {
					return err
				}
			case f.busy != nil:
				f.busy(e.PID)
			}
		case a := <-w.asked:
			w.join(a)
		case path := <-w.ended:
			delete(w.seen, path) // the socket may still exist, or exist again
			if f.Ended != nil {
				f.Ended(processOf(path))
			}
		case <-look.C:
			w.ask(unwatched(dir, pids, w.seen))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watched holds the processes whose messages are read.
type watched struct {
	ctx     context.Context
	wants   byte // byte that is sent to each process
	asked   chan responded
	events  chan ShownEvent
	ended   chan string     // sockets of processes that have ended
	asking  map[string]bool // sockets that have not responded yet; used only by FollowTraffic, like seen
	seen    map[string]bool // sockets whose messages are read
	readers sync.WaitGroup
}

// A responded is a socket that responded, and whether its process sends messages.
type responded struct {
	path  string
	shows bool
}

// ask requests the messages of processes without waiting, because a stopped process would delay the
// messages of all others.
func (w *watched) ask(paths []string) {
	for _, path := range paths {
		if w.asking[path] {
			continue
		}
		w.asking[path] = true
		w.readers.Go(func() {
			conn, lines, err := w.dial(path)
			if err == nil {
				defer conn.Close()
			}
			select {
			case w.asked <- responded{path, err == nil}:
			case <-w.ctx.Done():
				return
			}
			if err != nil || ReadTraffic(w.ctx, conn, lines, path, w.events) {
				return // the process is not tried again
			}
			select {
			case w.ended <- path:
			case <-w.ctx.Done():
			}
		})
	}
}

// join records the response of a process.
func (w *watched) join(a responded) {
	delete(w.asking, a.path)
	if a.shows {
		w.seen[a.path] = true
	}
}

// dial connects to a process, which then sends its messages. dial reads the first line into the
// scanner.
func (w *watched) dial(path string) (net.Conn, *bufio.Scanner, error) {
	conn, err := cli.DialSocket(w.ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(w.ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(cli.StatusTimeout))
	_, _ = conn.Write([]byte{w.wants}) // Scan reports an error of writing
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), MaxTrafficLine)
	if !lines.Scan() { // the process is ending, or has another version
		conn.Close()
		return nil, nil, cmp.Or(lines.Err(), io.EOF)
	}
	return conn, lines, conn.SetDeadline(time.Time{})
}

// ReadTraffic sends the messages of a process to events until the process ends. busy reports that
// the process has too many watchers, or that ctx is done. The first line must have been scanned; it
// is the only server of the process.
func ReadTraffic(ctx context.Context, conn net.Conn, lines *bufio.Scanner, path string, events chan<- ShownEvent) (busy bool) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	from := ShownEvent{PID: processOf(path), Serves: lines.Text()}
	for lines.Scan() {
		e := from
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break // another version of junction
		}
		e.PID = from.PID
		select {
		case events <- e:
		case <-ctx.Done():
			return true
		}
		if e.Busy {
			return true
		}
	}
	if lines.Err() != nil && ctx.Err() == nil {
		from.Event = traffic.Event{Time: time.Now(), Kind: traffic.Dropped, Count: 1}
		select {
		case events <- from:
		case <-ctx.Done():
		}
	}
	return false
}

// unwatched returns the sockets of processes that are not watched yet. If pids is not empty, it
// returns only sockets of these processes.
func unwatched(dir string, pids []string, seen map[string]bool) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*"+reach.TrafficSuffix)) // the pattern is valid
	return slices.DeleteFunc(all, func(path string) bool {
		return seen[path] || len(pids) > 0 && !slices.Contains(pids, strings.TrimSuffix(filepath.Base(path), reach.TrafficSuffix))
	})
}

// processOf returns the process id in the name of a socket.
func processOf(path string) (pid int) {
	pid, _ = strconv.Atoi(strings.TrimSuffix(filepath.Base(path), reach.TrafficSuffix))
	return pid
}
