package up

import (
	"maps"
	"slices"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// needPins reads which definitions are approved, if that is asked for and was not.
func (y *Layers) needPins(a *cli.App, now *Arrangement) error {
	if now.Settings.Review == reach.ReviewNone || y.Pins.Load() != nil {
		return nil
	}
	return y.ReadPins(a.Place)
}

// ReadPins reads which definitions are approved.
func (y *Layers) ReadPins(p place.Place) error {
	approved, err := cli.Pins(p)
	if err == nil {
		y.Pins.Store(approved)
	}
	return err
}

// Review withholds the definitions of a server that are not approved. Of one with an instance for each user or client, each
// instance has a reviewer of its own, as what it lists may be for its user only.
func (y *Layers) Review(now *Arrangement, e LayeredServer) mcp.Middleware {
	a, u := e.App, e.Upstream
	if now.Settings.Review == reach.ReviewNone || e.Definition == nil { // junction approve knows its own definitions
		return nil
	}
	o := review.Options{Server: e.Name, Mode: review.Mode(now.Settings.Review), Pins: y.Pins.Load, Remedy: "run junction approve " + plaintext.ShellWord(e.Name) + ", as junction status shows it"}
	// The lock is read once, as a server whose lock changed is replaced: what comes into the file meanwhile approves nothing of this one.
	if locked, err := a.Launch.Locked(e.Definition); err == nil && locked != nil && reach.AgreedLock(a, e.Entry, locked) == nil { // else nothing is started, nor listed
		o.Locked = func() map[string]string { return locked.Definitions }
	}
	o.Noter = reviewedServer{a, y, e.Entry, false}
	own := o
	own.Noter = reviewedServer{a, y, e.Entry, true}
	own.Remedy += " (of definitions that differ by user, only those that a connection of nobody gets can be approved)"
	r := review.New(o)
	u.Check = r.Check
	if u.Isolation == gateway.Shared {
		return r.Around
	}
	u.Instance = func() mcp.Middleware { return review.Middleware(own) }
	return r.Lists
}

// A reviewedServer gets the notes about the lists of a server.
type reviewedServer struct {
	*cli.App
	layers *Layers
	entry  cli.Entry
	// added: of what is withheld nothing is reported, as each user's connection would repeat it.
	added bool
}

// Note implements [mcp.Noter].
func (r reviewedServer) Note(_ string, value any) {
	change, _ := value.(review.Change)
	if len(change.Added) > 0 {
		var names []string
		for _, d := range change.Added {
			names = append(names, d.Name)
		}
		r.Screen.Printf("junction: server %q offers more than before: %s (--review all withholds what is new)\n", r.entry.Name, cli.SomeNames(names))
	}
	if r.added {
		return
	}
	names := map[string][]string{} // by why they are withheld
	for _, w := range change.Withheld {
		why := plaintext.Line(w.Why(), cli.MaxReason)
		names[why] = append(names[why], w.Definition.Name)
		if count := r.layers.withheld; count != nil {
			count.WithLabelValues(r.entry.Name).Inc()
		}
		if log := r.layers.Log; log != nil {
			name := plaintext.Line(w.Definition.Name, cli.MaxReason)
			_ = log.Withhold(&audit.Record{Server: r.entry.Name, Name: name, Tool: name, Rule: "review", Reason: why}) // calls say whether lines can be written
		}
	}
	for _, why := range slices.Sorted(maps.Keys(names)) {
		is := "is"
		if len(names[why]) > 1 {
			is = "are"
		}
		r.Screen.Printf("junction: server %q: %s %s not offered, %s: %s\n", r.entry.Name, cli.SomeNames(names[why]), is, why, policies.Approval(r.entry.Name, "", r.entry.Definition.Source))
	}
}
