package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// review withholds the definitions of a server that are not approved. Of one with an instance for each user or client, each
// instance has a reviewer of its own, as what it lists may be for its user only.
func (y *layers) review(a *app, e entry, u *gateway.Upstream) mcp.Middleware {
	o := review.Options{Server: e.name, Mode: review.Mode(y.now.Load().options.review), Pins: y.pins.Load, Remedy: "run junction approve " + shellWord(e.name) + ", as junction status shows it"}
	// The lock is read once, as a server whose lock changed is replaced: what comes into the file meanwhile approves nothing of this one.
	if locked, err := a.locked(e.definition); err == nil && locked != nil && a.agreedLock(e, locked) == nil { // else nothing is started, nor listed
		o.Locked = func() map[string]string { return locked.Definitions }
	}
	o.OnAdded = func(added []guard.Definition) {
		var names []string
		for _, d := range added {
			names = append(names, plaintext.Line(d.Name, 100))
		}
		a.screen.Printf("junction: server %q offers more than before: %s (--review all withholds what is new)\n", e.name, someNames(names))
	}
	own := o
	own.Remedy += " (of definitions that differ by user, only those that a connection of nobody gets can be approved)"
	o.OnWithheld = func(withheld []review.Withheld) {
		names := map[string][]string{} // by why they are
		for _, w := range withheld {
			why := plaintext.Line(w.Why(), maxReason)
			names[why] = append(names[why], w.Definition.Name)
		}
		for _, why := range slices.Sorted(maps.Keys(names)) {
			is := "is"
			if len(names[why]) > 1 {
				is = "are"
			}
			a.screen.Printf("junction: server %q: %s %s not offered, %s: %s\n", e.name, someNames(names[why]), is, why, approval(e.name, "", e.definition.Source))
		}
	}
	r := review.New(o)
	u.Check = r.Check
	if u.Isolation == gateway.Shared {
		return r.Around
	}
	u.Instance = func() mcp.Middleware { return review.Middleware(own) }
	return r.Lists
}

// someNames are the first of some names, and how many more there are.
func someNames(names []string) string {
	some := make([]string, 0, maxRenamed+1)
	for _, name := range names[:min(len(names), maxRenamed)] {
		some = append(some, plaintext.Line(name, 100))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return strings.Join(some, ", ")
}
