package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// add adds a server to the gateway, or replaces the one of its name. Why it cannot be is shown.
func (v *served) add(ctx context.Context, e cli.Entry, replace bool) bool {
	var u gateway.Upstream
	var err error
	var x *exchanging
	if e.Definition != nil {
		if x, err = v.exchange(e); err == nil {
			u = upstreamOf(ctx, v.app, e, v.store, v.client, x)
		}
	} else {
		u.Handler, err = reach.Within(ctx, v.app, e.Name, reach.Shipping{})
	}
	if err == nil {
		v.surround(e, &u)
		v.exchanges.add(x)
		u.OnEnd = func() { v.exchanges.remove(x) } // what goes on being used is kept
		if replace {
			err = v.gateway.Replace(e.Name, u)
		} else {
			err = v.gateway.Add(e.Name, u)
		}
		if err != nil {
			v.exchanges.remove(x)
		}
	}
	if err != nil {
		v.app.Screen.Printf("junction: %v\n", err)
	}
	return err == nil
}

// surround has u say what stands around a server, by the settings.
func (v *served) surround(e cli.Entry, u *gateway.Upstream) {
	now := v.layers.now.Load()
	apply(u, now.settings.Servers[e.Name])
	u.Middleware = now.around(v.layers, v.app, e, u)
}

// rearrange has what stands around a server be as the settings say now. Why it cannot be is shown.
func (v *served) rearrange(e cli.Entry) bool {
	var u gateway.Upstream
	if e.Definition != nil && e.Definition.Grant() == config.GrantExchange {
		u.Isolation = gateway.PerUser
	}
	v.surround(e, &u)
	if err := v.gateway.Rearrange(e.Name, u); err != nil {
		v.app.Screen.Printf("junction: %v\n", err)
		return false
	}
	return true
}

// A print is what a server was made from.
type print struct {
	server string // changes when it must be started anew
	around string // changes when what stands around it does
}

func (v *served) printOf(e cli.Entry) (p print) {
	now := v.layers.now.Load()
	own := now.settings.Of(e.Name)
	around := []any{own}
	for _, l := range chain {
		if l.from != nil {
			around = append(around, l.from(now))
		}
	}
	text, _ := json.Marshal(around) // texts and numbers always encode
	p.around = string(text)
	if d := e.Definition; d != nil {
		// The members that are secret are in the hash.
		text, _ = json.Marshal([]any{settings.RestartServer.Members(own), settings.RestartServer.Members(*now.settings), d.Entry})
		p.server = fmt.Sprintf("%s %s %s %s %s", text, d.Source, d.Hash(), d, reach.LockPrint(v.app, d))
	}
	return p
}

// change adds, replaces and removes servers until they are those of the entries, and says what it did. Those that are removed are
// offered no longer; left, which must be called, waits until they have ended what they run.
func (v *served) change(ctx context.Context, entries []cli.Entry) (what []string, left func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.entries = entries
	if !v.joined {
		return []string{"servers start when the client asks for something"}, func() {}
	}
	var added, replaced, removed []string
	prints := map[string]print{}
	for _, e := range entries {
		now := v.printOf(e)
		before, there := v.prints[e.Name]
		switch {
		case there && before == now:
		case there && before.server == now.server:
			if !v.rearrange(e) {
				continue
			}
			replaced = append(replaced, e.Name)
		case !v.add(ctx, e, there):
			continue
		case there:
			replaced = append(replaced, e.Name)
		default:
			added = append(added, e.Name)
		}
		prints[e.Name] = now
	}
	var leaving sync.WaitGroup
	for name := range v.prints {
		if _, there := prints[name]; !there {
			removed = append(removed, name)
			leaving.Go(func() { _ = v.gateway.Remove(ctx, name) }) // it is there, or up ends
		}
	}
	v.prints = prints
	slices.Sort(removed)
	for _, some := range []struct {
		names []string
		what  string
	}{{added, "added"}, {replaced, "changed"}, {removed, "removed"}} {
		if len(some.names) > 0 {
			what = append(what, plaintext.Line(strings.Join(some.names, ", "), cli.MaxReason)+" "+some.what)
		}
	}
	return what, leaving.Wait
}
