package main

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/traffic"
)

const (
	maxFollowed = 1_000 // calls of which it is remembered whether they are shown
	maxHeld     = 100   // messages of one of them that wait until that is known
)

// followed finds out which calls lead to the server, and come from the client, that a filter names: other messages of such a
// call say neither.
type followed struct {
	filter *trafficFilter
	calls  map[callOf]*followedCall
}

// A callOf is a call of one process.
type callOf struct {
	pid  int
	call uint64
}

type followedCall struct {
	byClient, toServer bool         // whether it is known that it is the client's, and leads to the server
	held               []shownEvent // until it is
}

// shown are the messages to show now that another one came.
func (f *followed) shown(e shownEvent) []shownEvent {
	switch {
	case !f.filter.shows(&e.Event):
		e.Kind, e.Message = "", nil // it may say whose call it is, all the same
	case e.Kind == traffic.Dropped || len(f.filter.servers) == 0 && f.filter.client == "":
		return []shownEvent{e}
	}
	c := &followedCall{}
	key := callOf{e.PID, e.Call}
	if e.Call > 0 {
		if known := f.calls[key]; known != nil {
			c = known
		} else if len(f.calls) < maxFollowed {
			f.calls[key] = c
		}
	}
	c.byClient = c.byClient || f.filter.client == "" || e.Hop == traffic.Client && strings.Contains(strings.ToLower(e.Client), strings.ToLower(f.filter.client))
	c.toServer = c.toServer || f.filter.leadsTo(e.Server)
	if e.Hop == traffic.Server && !f.filter.leadsTo(e.Server) {
		e.Kind = "" // of a call that leads to several servers
	}
	if e.Kind != "" && len(c.held) < maxHeld {
		c.held = append(c.held, e)
	}
	var now []shownEvent
	if c.byClient && c.toServer {
		now, c.held = c.held, nil
	}
	if isLast := e.Hop == traffic.Client && !e.ToServer && e.Took > 0; isLast {
		delete(f.calls, key)
	}
	return now
}

// leadsTo reports whether what goes to a server is shown.
func (f *trafficFilter) leadsTo(server string) bool {
	return len(f.servers) == 0 || slices.Contains(f.servers, server)
}
