package main

import (
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/mcp"
)

// review withholds the definitions of a server that are not approved. Of one with an instance for each user or client, each
// instance has a reviewer of its own, as what it lists may be for its user only.
func (y *layers) review(a *app, e entry, u *gateway.Upstream) mcp.Middleware {
	o := review.Options{Server: e.name, Mode: review.Mode(y.now.Load().options.review), Pins: y.pins.Load, Remedy: "run junction approve " + shellWord(e.name) + ", as junction status shows it"}
	own := o
	own.Remedy += " (of definitions that differ by user, only those that a connection of nobody gets can be approved)"
	o.OnWithheld = func(withheld []review.Withheld) {
		a.screen.Printf("junction: server %q: %s not offered, new or changed since it was approved: %s\n", e.name, withheldNames(withheld), approval(e.name, "", e.definition.Source))
	}
	r := review.New(o)
	u.Check = r.Check
	if u.Isolation == gateway.Shared {
		return r.Around
	}
	u.Instance = func() mcp.Middleware { return review.Middleware(own) }
	return r.Lists
}
