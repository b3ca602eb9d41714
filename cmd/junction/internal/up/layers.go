package up

import (
	"maps"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/up/layer"
)

// layerOptions returns what the layers need to know of the command.
func layerOptions(a *cli.App, o UpOptions) layer.Options {
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
		a.Screen.Printf("junction: server %q offers more than before: %s (--review all withholds what is new)\n", of.Name, cli.SomeNames(names))
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
		a.Screen.Printf("junction: server %q: %s %s not offered, %s: %s\n", of.Name, cli.SomeNames(names[why]), is, why, policies.Approval(of.Name, "", of.Source))
	}
}
