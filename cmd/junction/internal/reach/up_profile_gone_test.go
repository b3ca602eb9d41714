package reach_test

import (
	"context"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
)

// A call that came to a profile which is removed before the rules see it, such as one that waited for a limit, is
// not decided by no rules.
func TestNoCallOfAProfileThatIsRemovedRunsWithoutRules(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{"policy.json": `{"rules":[{"effect":"deny","tool":"drop"}],"default":"allow"}`})
	all := settings.Settings{Tools: "all", Review: reach.ReviewNone, Policy: "policy.json", Profiles: map[string]settings.Profile{"p": {}}}
	g := clitest.GatewayWith(t, &all)
	s := mcp.NewServer("s", "1")
	dropped := false
	mcp.AddTool(s, "drop", func(context.Context, struct{}) (string, error) {
		dropped = true
		return "dropped", nil
	})
	y := g.Layers()
	if _, err := g.Apply(t.Context(), &uplib.Plan{Layers: y.Plan(), Servers: []uplib.Server{uplib.InProcess("s", s)}}); err != nil {
		t.Fatal(err)
	}
	g.Start(t.Context())
	inProfile := mcp.NewClient(y.Front(layer.Part{Gateway: g.Members(), Profile: "p"}))
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
