package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A call that came to a profile which is removed before the rules see it, such as one that waited for a limit, is
// not decided by no rules.
func TestNoCallOfAProfileThatIsRemovedRunsWithoutRules(t *testing.T) {
	alone(t)
	write(t, map[string]string{"policy.json": `{"rules":[{"effect":"deny","tool":"drop"}],"default":"allow"}`})
	a := cli.Ready(&cli.App{Place: placeOf(t), Screen: terminal.NewScreen(io.Discard)})
	all := settings.Settings{Tools: "all", Review: reach.ReviewNone, Policy: "policy.json", Profiles: map[string]settings.Profile{"p": {}}}
	y, err := layer.Open(&all, layer.Options{Place: a.Place})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	s := mcp.NewServer("s", "1")
	dropped := false
	mcp.AddTool(s, "drop", func(context.Context, struct{}) (string, error) {
		dropped = true
		return "dropped", nil
	})
	g := gateway.New(gateway.Options{Logger: slog.New(slog.DiscardHandler)})
	defer g.Close()
	v := &up.Served{App: a, Gateway: g, Layers: y, Prints: map[string]up.Print{}}
	u := gateway.Upstream{Handler: s}
	v.Surround(cli.Entry{Name: "s"}, &u)
	if err := g.Add("s", u); err != nil {
		t.Fatal(err)
	}
	v.MakeFronts()
	inProfile := mcp.NewClient((*v.Fronts.Load())["p"])
	refused := func(when, want string) {
		t.Helper()
		r, err := inProfile.CallTool(t.Context(), "s__drop", nil)
		text := ""
		switch {
		case err != nil:
			text = err.Error()
		case r.IsError:
			text = r.Text()
		}
		if dropped || !strings.Contains(text, want) {
			t.Errorf("%s: it ran: %t; %q", when, dropped, text)
		}
	}
	refused("before", `not allowed: the rule deny tool "drop"`)
	all.Profiles = nil
	next, err := y.Read(&all)
	if err != nil {
		t.Fatal(err)
	}
	y.Use(next)
	refused("once it is removed", "not allowed: the profile was removed")
}
