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

// A TrafficFollower is what followTraffic calls, one function after the other; those that are nil it does without.
type TrafficFollower struct {
	notes bool                                   // are wanted, too
	not   int                                    // a process that is not watched in this way; 0: none
	Began func(processes int) error              // once, with the number of those that run
	busy  func(pid int)                          // for a process that is not watched, as too many watch it already
	Event func(e ShownEvent, several bool) error // for each message; several says that there is more than one process
	Ended func(pid int)                          // for a process of which no more messages come
}

// FollowTraffic calls f for the messages of processes, of all without pids, and of those that begin, until f fails or ctx is
// done, and returns why.
func FollowTraffic(ctx context.Context, p place.Place, pids []string, f TrafficFollower) error {
	dir, err := cli.StatusFolder(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{ctx: ctx, wants: reach.WantsMessages, asked: make(chan reached), events: make(chan ShownEvent), ended: make(chan string), asking: map[string]bool{}, seen: map[string]bool{}}
	if f.notes {
		w.wants = reach.WantsNotes
	}
	defer w.readers.Wait()
	defer cancel()
	look := time.NewTicker(lookPause)
	defer look.Stop()
	defer reach.MarkWatching(p)()
	if f.not > 0 {
		w.seen[filepath.Join(dir, strconv.Itoa(f.not)+reach.TrafficEnd)] = true
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
			delete(w.seen, path) // it may be there still, or again
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

// watched are the processes whose messages are read.
type watched struct {
	ctx     context.Context
	wants   byte // what each is asked for
	asked   chan reached
	events  chan ShownEvent
	ended   chan string     // sockets of those that ended
	asking  map[string]bool // sockets that have not answered yet; for whoever shows the messages, as is seen
	seen    map[string]bool // sockets
	readers sync.WaitGroup
}

// A reached is a socket that was asked for messages, and whether it shows them from now on.
type reached struct {
	path  string
	shows bool
}

// ask asks more processes for what they show, and waits for none of them: one that is stopped would keep back the messages
// of all others.
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
			case w.asked <- reached{path, err == nil}:
			case <-w.ctx.Done():
				return
			}
			if err != nil || ReadTraffic(w.ctx, conn, lines, path, w.events) {
				return // and is not tried again
			}
			select {
			case w.ended <- path:
			case <-w.ctx.Done():
			}
		})
	}
}

// join takes up what a process answered.
func (w *watched) join(a reached) {
	delete(w.asking, a.path)
	if a.shows {
		w.seen[a.path] = true
	}
}

// dial connects to a process that shows its messages from then on. The first line that it said is scanned.
func (w *watched) dial(path string) (net.Conn, *bufio.Scanner, error) {
	conn, err := cli.DialMine(w.ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(w.ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(cli.StatusTime))
	_, _ = conn.Write([]byte{w.wants}) // whoever cannot be asked does not answer either
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), MaxTrafficLine)
	if !lines.Scan() { // it ends, or is no junction of this version
		conn.Close()
		return nil, nil, cmp.Or(lines.Err(), io.EOF)
	}
	return conn, lines, conn.SetDeadline(time.Time{})
}

// ReadTraffic reads the messages of one process until it ends, or has enough that watch it. Its first line, which is scanned, is
// what it serves.
func ReadTraffic(ctx context.Context, conn net.Conn, lines *bufio.Scanner, path string, events chan<- ShownEvent) (busy bool) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	from := ShownEvent{PID: processOf(path), Serves: lines.Text()}
	for lines.Scan() {
		e := from
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break // no junction of this version
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

// unwatched are the sockets of processes that are not watched yet: of all without pids.
func unwatched(dir string, pids []string, seen map[string]bool) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*"+reach.TrafficEnd)) // of a pattern that is well formed
	return slices.DeleteFunc(all, func(path string) bool {
		return seen[path] || len(pids) > 0 && !slices.Contains(pids, strings.TrimSuffix(filepath.Base(path), reach.TrafficEnd))
	})
}

// processOf is the process of a socket.
func processOf(path string) (pid int) {
	pid, _ = strconv.Atoi(strings.TrimSuffix(filepath.Base(path), reach.TrafficEnd))
	return pid
}
