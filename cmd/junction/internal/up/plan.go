package up

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
)

// servers returns the servers of entries, and remembers the entries.
func (v *Served) servers(entries []launch.Entry) (all []uplib.Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Entries = entries
	for _, e := range entries {
		all = append(all, v.ServerOf(e))
	}
	return all
}

// ServerOf returns a server as the gateway takes it.
func (v *Served) ServerOf(e launch.Entry) uplib.Server {
	s := uplib.Server{Server: layer.Server{Name: e.Name, Source: e.Source(), Command: e.Command(), OfProject: e.OfProject()}}
	d := e.Definition
	if d == nil {
		s.Open = func(ctx context.Context) (u gateway.Upstream, err error) {
			u.Handler, err = reach.SharedHandler(ctx, v.App, e.Name, reach.Shipping{})
			return u, err
		}
		return s
	}
	s.Locked = func() map[string]string {
		locked, err := v.App.Launch.Locked(d)
		if err != nil || locked == nil || reach.CheckLock(v.App, e, locked) != nil { // nothing is started then, nor listed
			return nil
		}
		return locked.Definitions
	}
	s.PerUser = d.Grant() == config.GrantExchange
	s.Open = func(ctx context.Context) (gateway.Upstream, error) {
		x, err := v.exchange(e)
		if err != nil {
			return gateway.Upstream{}, err
		}
		u := UpstreamOf(ctx, v.App, e, v.store, *v.client.Load(), x)
		v.Exchanges.Add(x)
		u.OnEnd = func() { v.Exchanges.remove(x) } // what goes on being used is kept
		return u, nil
	}
	text, _ := json.Marshal(d.Entry)                                                                      // texts and numbers always encode
	s.Print = fmt.Sprintf("%s %s %s %s %s", text, d.Source, d.Hash(), d, reach.LockFingerprint(v.App, d)) // the members that are secret are in the hash
	return s
}

// layerOptions returns what the layers need to know of the command.
func layerOptions(a *cli.App, o Options) layer.Options {
	return layer.Options{Place: a.Place, Logger: a.Logger(), Version: cli.Version, Collector: o.otlp, Recorder: a.Launch.Recorder, Authorizes: o.Auth != AuthNone, OpenState: a.Launch.OpenState,
		Ignored:  func(ignored error) { a.Screen.Printf("junction: %v\n", ignored) },
		Reviewed: func(of layer.Server, c review.Change) { reportReview(a, of, c) }}
}

// reportReview prints which definitions of a server are new, and which are withheld, and why.
func reportReview(a *cli.App, of layer.Server, c review.Change) {
	if len(c.Added) > 0 {
		var names []string
		for _, d := range c.Added {
			names = append(names, d.Name)
		}
		a.Screen.Printf("junction: server %q offers more than before: %s (--review all withholds what is new)\n", of.Name, cli.FirstNames(names))
	}
	names := map[string][]string{} // by why they are withheld
	for _, w := range c.Withheld {
		why := plaintext.Line(w.Why(), cli.MaxReason)
		names[why] = append(names[why], w.Definition.Name)
	}
	for _, why := range slices.Sorted(maps.Keys(names)) {
		is := "is"
		if len(names[why]) > 1 {
			is = "are"
		}
		a.Screen.Printf("junction: server %q: %s %s not offered, %s: %s\n", of.Name, cli.FirstNames(names[why]), is, why, policies.ApproveCommandLine(of.Name, "", of.Source))
	}
}

// report prints which servers could not be added, and returns lines about what changed.
func (v *Served) report(d uplib.Diff) (changed []string) {
	for _, err := range d.Failed {
		v.App.Screen.Printf("junction: %v\n", err)
	}
	if d.Waits {
		changed = append(changed, "servers start when the client asks for something")
	}
	for _, some := range []struct {
		names []string
		what  string
	}{{d.Added, "added"}, {d.Changed, "changed"}, {d.Removed, "removed"}} {
		if len(some.names) > 0 {
			changed = append(changed, plaintext.Line(strings.Join(some.names, ", "), cli.MaxReason)+" "+some.what)
		}
	}
	if d.Rules {
		changed = append(changed, "the rules changed")
	}
	if d.Settings {
		changed = append(changed, "the settings changed")
	}
	return changed
}
