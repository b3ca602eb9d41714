package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

const (
	maxFollowed  = 1_000    // calls of which it is remembered whether they are shown
	maxHeld      = 100      // messages of one of them that wait until that is known
	maxHeldBytes = 32 << 20 // of all that wait
)

// followed finds out which calls lead to the server, and come from the client, that a filter names: other messages of such a
// call say neither.
type followed struct {
	filter *trafficFilter
	calls  map[callOf]*followedCall
	began  uint64 // calls so far
	bytes  int    // of all that is held
}

// A callOf is a call of one process.
type callOf struct {
	pid  int
	call uint64
}

type followedCall struct {
	byClient, toServer bool         // whether it is known that it is the client's, and leads to the server
	held               []shownEvent // until it is
	bytes              int          // of these
	began              uint64       // its place among all calls
}

// shown are the messages to show now that another one came.
func (f *followed) shown(e shownEvent) (now []shownEvent) {
	switch {
	case !f.filter.shows(&e.Event):
		e.Kind, e.Message = "", nil // it may say whose call it is, all the same
	case e.Kind == traffic.Dropped || len(f.filter.servers) == 0 && f.filter.client == "":
		return []shownEvent{e}
	}
	c := &followedCall{}
	key := callOf{e.PID, e.Call}
	if e.Call > 0 {
		c = f.call(key)
	}
	c.byClient = c.byClient || f.filter.client == "" || e.Hop == traffic.Client && strings.Contains(strings.ToLower(e.Client), strings.ToLower(f.filter.client))
	c.toServer = c.toServer || f.filter.leadsTo(e.Server)
	if e.Hop == traffic.Server && !f.filter.leadsTo(e.Server) {
		e.Kind = "" // of a call that leads to several servers
	}
	if c.byClient && c.toServer {
		now = f.release(c)
		if e.Kind != "" {
			now = append(now, e)
		}
	} else if e.Kind != "" && e.Call > 0 && len(c.held) < maxHeld {
		f.hold(c, e)
	}
	if isLast := e.Hop == traffic.Client && !e.ToServer && e.Took > 0; isLast {
		f.forget(key)
	}
	return now
}

// call is what is known of a call. A new one takes the place of the oldest, which may never get a response, where there are too many.
func (f *followed) call(key callOf) *followedCall {
	c := f.calls[key]
	if c != nil {
		return c
	}
	if len(f.calls) >= maxFollowed {
		f.forget(f.oldest(func(*followedCall) bool { return true }))
	}
	f.began++
	c = &followedCall{began: f.began}
	f.calls[key] = c
	return c
}

// hold keeps a message until it is known whether its call is shown, or others need the place.
func (f *followed) hold(c *followedCall, e shownEvent) {
	const rest = 300
	size := rest + len(e.Message) + len(e.ID) + len(e.Client) + len(e.Server) + len(e.Method) + len(e.Name) + len(e.Note) + len(e.Fault)
	c.held = append(c.held, e)
	c.bytes += size
	f.bytes += size
	for f.bytes > maxHeldBytes {
		f.release(f.calls[f.oldest(func(c *followedCall) bool { return c.bytes > 0 })])
	}
}

// release returns what is held of a call, which is held no more.
func (f *followed) release(c *followedCall) (held []shownEvent) {
	f.bytes -= c.bytes
	held, c.held, c.bytes = c.held, nil, 0
	return held
}

// oldest finds the call that began first of those that is picks, of which there must be one.
func (f *followed) oldest(is func(*followedCall) bool) (key callOf) {
	first := f.began + 1
	for one, c := range f.calls {
		if c.began < first && is(c) {
			key, first = one, c.began
		}
	}
	return key
}

func (f *followed) forget(key callOf) {
	if c := f.calls[key]; c != nil {
		f.release(c)
		delete(f.calls, key)
	}
}

// ended forgets the calls of a process.
func (f *followed) ended(pid int) {
	for key := range f.calls {
		if key.pid == pid {
			f.forget(key)
		}
	}
}

// leadsTo reports whether what goes to a server is shown.
func (f *trafficFilter) leadsTo(server string) bool {
	return len(f.servers) == 0 || slices.Contains(f.servers, server)
}

// readTraffic reads the messages of one process until it ends, or has enough that watch it.
func readTraffic(ctx context.Context, conn net.Conn, path string, events chan<- shownEvent) (busy bool) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	pid := processOf(path)
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), maxTrafficLine)
	for lines.Scan() {
		e := shownEvent{PID: pid}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break // no junction of this version
		}
		e.PID = pid
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
		select {
		case events <- shownEvent{PID: pid, Event: traffic.Event{Time: time.Now(), Kind: traffic.Dropped, Count: 1}}:
		case <-ctx.Done():
		}
	}
	return false
}
