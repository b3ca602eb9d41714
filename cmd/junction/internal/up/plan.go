package up

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
)

// Source returns the source of the gateway's plan.
func (v *Served) Source() uplib.Source {
	return uplib.Source{Launcher: &v.App.Launch, Listener: v.listener, Open: v.open, Version: v.secrets.version, Memory: func(e launch.Entry, s *config.Server) *definitions.Entry {
		if e.Definition.Grant() != config.GrantExchange { // with an exchange, each caller has another token
			v.App.Digests.Expect(v.App.Place, e, s)
		}
		if v.store == nil {
			return nil
		}
		return cli.DefinitionsEntry(v.store, s, *v.client.Load())
	}}
}

// open returns the upstream for a configured server. If the server's entry asks for it, each caller
// gets a token of their own.
func (v *Served) open(ctx context.Context, e launch.Entry) (gateway.Upstream, error) {
	x, err := v.exchange(e)
	if err == nil && e.Definition.UserHeader != "" {
		err = v.Options.checkUserHeader(e, v.Gateway.Layers().Plan().Settings.Servers)
	}
	if err != nil {
		return gateway.Upstream{}, err
	}
	u := v.Source().Upstream(ctx, e, func(ctx context.Context, start *gateway.Start) (t launch.Target, err error) {
		if x != nil {
			t, err = x.resolve(ctx, start)
		} else if t, err = v.Source().Target(ctx, e, start); err == nil {
			t.Connected = func() { v.App.Digests.Set(v.App.Place, e, t.Server) }
		}
		t.Transport = v.App.StderrOf(e.Name).Attach(t.Transport, e.IsAPI())
		return t, err
	})
	if x != nil {
		u.Isolation, u.Whose = gateway.PerUser, x.CallerOf
		v.Exchanges.Add(x)
		u.OnEnd = func() { v.Exchanges.remove(x) } // the last instance has ended, so no more tokens are needed
	}
	return u, nil
}

// Admit returns the entries to serve and stores them. It stores a line about each refused entry. A
// server whose entry in set is now faulty keeps its earlier entry.
func (v *Served) Admit(ctx context.Context, set *config.Set, entries []launch.Entry, named bool) []launch.Entry {
	entries, refused := v.App.Launch.Admit(ctx, entries, named)
	v.Refused.Store(&refused)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.Entries {
		if reach.HasProblem(set, e.Name) && !slices.ContainsFunc(entries, func(other launch.Entry) bool { return other.Name == e.Name }) {
			entries = append(entries, e)
		}
	}
	v.Entries = entries
	return entries
}

// layerOptions returns the options of the layers for this command line.
func (v *Served) layerOptions(s *settings.Settings, from string) layer.Options {
	a, o := v.App, &v.Options
	return layer.Options{Place: a.Place, Logger: a.Logger(), Version: cli.Version, Collector: s.Telemetry.OTLP, Recorder: a.Launch.Recorder, Authorizes: len(o.Auth) > 0, Authenticates: o.KnowsCallers(), OpenState: openTasks(a), Shares: v.shares, Results: v.results, Replicas: a.Launch.Shared(), ReplicasSecret: a.Launch.SharedSecret("calls that wait for approval"), LoadPins: func() (*guard.Pins, error) { return reach.Pins(context.Background(), a) },
		Team: v.teamURL,
		Secret: func(ctx context.Context, text string) (string, error) {
			if kind, name := settings.Reference(text); kind != "" {
				return reach.Referenced(ctx, a, kind, name, from)
			}
			a.Launch.Hide(text)
			return text, nil
		},
		Ignored:  func(ignored error) { a.Screen.Printf("junction: %v\n", ignored) },
		Reviewed: func(of layer.Server, c review.Change) { v.notices.print(a.Screen, reviewText(of, c)) }}
}

// notices holds texts about servers back until junction up has printed where it serves, as servers
// start before that. The zero value is ready to use.
type notices struct {
	mu         sync.Mutex
	introduced bool
	held       string // of at most one review of each server
}

// print prints a text, or holds it back.
func (n *notices) print(to *terminal.Screen, text string) {
	n.mu.Lock()
	if !n.introduced {
		n.held += text
		text = ""
	}
	n.mu.Unlock()
	if text != "" {
		to.Printf("%s", text)
	}
}

// release prints what was held back, and the later texts at once.
func (n *notices) release(to *terminal.Screen) {
	n.mu.Lock()
	n.introduced = true
	held := n.held
	n.held = ""
	n.mu.Unlock()
	n.print(to, held)
}

// reviewText returns lines with the names of a server's new definitions and of those that are
// withheld, with the reasons.
func reviewText(of layer.Server, c review.Change) (text string) {
	if len(c.Added) > 0 {
		var names []string
		for _, d := range c.Added {
			names = append(names, d.Name)
		}
		text = fmt.Sprintf("junction: server %q offers more than before: %s (--review all withholds what is new)\n", of.Name, plaintext.FirstNames(names))
	}
	names := map[string][]string{} // names by the reason for withholding them
	for _, w := range c.Withheld {
		why := plaintext.Line(w.Why(), cli.MaxReason)
		names[why] = append(names[why], w.Definition.Name)
	}
	for _, why := range slices.Sorted(maps.Keys(names)) {
		is := "is"
		if len(names[why]) > 1 {
			is = "are"
		}
		text += fmt.Sprintf("junction: server %q: %s %s not offered, %s: %s\n", of.Name, plaintext.FirstNames(names[why]), is, why, policies.ApproveCommandLine(of.Name, "", of.Source))
	}
	return text
}

// report prints an error for each server that could not be added, and returns descriptions of the
// changes.
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
