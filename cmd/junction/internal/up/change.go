package up

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
	"github.com/junction-mcp/junction/up/layer"
)

// Add adds a server to the gateway, or replaces the one of its name. Why it cannot be is shown.
func (v *Served) Add(ctx context.Context, e cli.Entry, replace bool) bool {
	var u gateway.Upstream
	var err error
	var x *Exchanging
	if e.Definition != nil {
		if x, err = v.exchange(e); err == nil {
			u = UpstreamOf(ctx, v.App, e, v.store, v.client, x)
		}
	} else {
		u.Handler, err = reach.Within(ctx, v.App, e.Name, reach.Shipping{})
	}
	if err == nil {
		v.Surround(e, &u)
		v.Exchanges.Add(x)
		u.OnEnd = func() { v.Exchanges.remove(x) } // what goes on being used is kept
		if replace {
			err = v.Gateway.Replace(e.Name, u)
		} else {
			err = v.Gateway.Add(e.Name, u)
		}
		if err != nil {
			v.Exchanges.remove(x)
		}
	}
	if err != nil {
		v.App.Screen.Printf("junction: %v\n", err)
	}
	return err == nil
}

// Surround has u say what stands around a server, by the settings.
func (v *Served) Surround(e cli.Entry, u *gateway.Upstream) {
	apply(u, v.Layers.Plan().Settings.Servers[e.Name])
	v.Layers.Around(v.layered(e), u)
}

// layered returns what the layers around a server need to know of it.
func (v *Served) layered(e cli.Entry) layer.Server {
	s := layer.Server{Name: e.Name, Source: e.Source(), Command: e.Command(), OfProject: e.OfProject()}
	if e.Definition != nil {
		s.Locked = func() map[string]string {
			locked, err := v.App.Launch.Locked(e.Definition)
			if err != nil || locked == nil || reach.AgreedLock(v.App, e, locked) != nil { // nothing is started then, nor listed
				return nil
			}
			return locked.Definitions
		}
	}
	return s
}

// rearrange has what stands around a server be as the settings say now. Why it cannot be is shown.
func (v *Served) rearrange(e cli.Entry) bool {
	var u gateway.Upstream
	if e.Definition != nil && e.Definition.Grant() == config.GrantExchange {
		u.Isolation = gateway.PerUser
	}
	v.Surround(e, &u)
	if err := v.Gateway.Rearrange(e.Name, u); err != nil {
		v.App.Screen.Printf("junction: %v\n", err)
		return false
	}
	return true
}

// A Print is what a server was made from.
type Print struct {
	Server string // changes when it must be started anew
	around string // changes when what stands around it does
}

func (v *Served) printOf(e cli.Entry) (p Print) {
	now := v.Layers.Plan()
	own := now.Settings.Of(e.Name)
	text, _ := json.Marshal(now.From(e.Name)) // texts and numbers always encode
	p.around = string(text)
	if d := e.Definition; d != nil {
		// The members that are secret are in the hash.
		text, _ = json.Marshal([]any{settings.RestartServer.Members(own), settings.RestartServer.Members(*now.Settings), d.Entry})
		p.Server = fmt.Sprintf("%s %s %s %s %s", text, d.Source, d.Hash(), d, reach.LockPrint(v.App, d))
	}
	return p
}

// Change adds, replaces and removes servers until they are those of the entries, and says what it did. Those that are removed are
// offered no longer; left, which must be called, waits until they have ended what they run.
func (v *Served) Change(ctx context.Context, entries []cli.Entry) (what []string, left func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Entries = entries
	if !v.Joined {
		return []string{"servers start when the client asks for something"}, func() {}
	}
	var added, replaced, removed []string
	prints := map[string]Print{}
	for _, e := range entries {
		now := v.printOf(e)
		before, there := v.Prints[e.Name]
		switch {
		case there && before == now:
		case there && before.Server == now.Server:
			if !v.rearrange(e) {
				continue
			}
			replaced = append(replaced, e.Name)
		case !v.Add(ctx, e, there):
			continue
		case there:
			replaced = append(replaced, e.Name)
		default:
			added = append(added, e.Name)
		}
		prints[e.Name] = now
	}
	var leaving sync.WaitGroup
	for name := range v.Prints {
		if _, there := prints[name]; !there {
			removed = append(removed, name)
			leaving.Go(func() { _ = v.Gateway.Remove(ctx, name) }) // it is there, or up ends
		}
	}
	v.Prints = prints
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
