package up

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
)

// version returns a server whose tool, version, returns v.
func version(v string) *mcp.Server {
	s := mcp.NewServer("v", "1")
	mcp.AddTool(s, "version", func(context.Context, struct{}) (string, error) { return v, nil })
	return s
}

func TestServersOfTheProgramAreServedWithAdmittedOnes(t *testing.T) {
	for _, test := range []struct {
		name     string
		own      []Server
		admitted []Server
		want     []string
		failed   string
	}{
		{"both", []Server{InProcess("own", version("1"))}, []Server{InProcess("configured", version("2"))}, []string{"own", "configured"}, ""},
		{"nothing is admitted", []Server{InProcess("own", version("1"))}, nil, []string{"own"}, ""},
		{"the same name", []Server{InProcess("own", version("1"))}, []Server{InProcess("own", version("2"))}, []string{"own"}, `server "own": the plan has two servers of this name; rename one`},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := &Plan{Servers: test.own, Admit: func(context.Context) []Server { return test.admitted }}
			g := newGateway(t, plan)
			d := g.Start(t.Context())
			if !slices.Equal(d.Added, test.want) || errText(d.Err()) != test.failed {
				t.Errorf("added %q, failed %v; want %q, %q", d.Added, d.Err(), test.want, test.failed)
			}
			if result, err := mcp.NewClient(g.Server("own")).CallTool(t.Context(), "version", nil); err != nil || result.Text() != "1" {
				t.Errorf("the own server: %q, %v", result.Text(), err)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// named returns a plan with a server a, which is h.
func named(h mcp.Handler) *Plan {
	return &Plan{Settings: &settings.Settings{Tools: "all"}, Servers: []Server{InProcess("a", h)}}
}

func TestApplyReplacesAChangedHandler(t *testing.T) {
	one, two := version("1"), version("2")
	wrapped := named(mcp.Chain(one, func(h mcp.Handler) mcp.Handler { return mcp.HandlerFunc(h.Handle) }))
	for _, test := range []struct {
		name          string
		before, after *Plan
		changed       []string
		want          string
	}{
		{"the same", named(one), named(one), nil, "1"},
		{"another", named(one), named(two), []string{"a"}, "2"},
		{"a function of the same call", wrapped, wrapped, nil, "1"},
		{"another function", wrapped, named(mcp.HandlerFunc(two.Handle)), []string{"a"}, "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t, test.before)
			g.Start(t.Context())
			d, err := g.Apply(t.Context(), test.after)
			if err != nil || d.Err() != nil || !reflect.DeepEqual(d.Changed, test.changed) {
				t.Errorf("got %+v, %v; want %q to change", d, err, test.changed)
			}
			if result, err := mcp.NewClient(g).CallTool(t.Context(), "a__version", nil); err != nil || result.Text() != test.want {
				t.Errorf("got %q, %v; want %q", result.Text(), err, test.want)
			}
		})
	}
}

func TestFaultsOfAPlanAreReported(t *testing.T) {
	for _, test := range []struct {
		name    string
		servers []Server
		want    string
	}{
		{"two of a name", []Server{InProcess("a", version("1")), InProcess("a", version("2"))}, `server "a": the plan has two servers of this name; rename one`},
		{"no name", []Server{InProcess("", version("1"))}, "name"},
		{"no Open", []Server{{}}, `server "": Open is nil; set it, or use InProcess`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t, &Plan{})
			if d := g.Start(t.Context()); d.Err() != nil {
				t.Fatal(d.Err())
			}
			if d, err := g.Apply(t.Context(), &Plan{Servers: test.servers}); err != nil || len(d.Failed) != 1 || !strings.Contains(d.Err().Error(), test.want) {
				t.Errorf("got %+v, %v; want %q", d, err, test.want)
			}
		})
	}
}

func TestCallsBeforeStartFailWithAReason(t *testing.T) {
	g := newGateway(t, named(version("1")))
	for name, h := range map[string]mcp.Handler{"a__version": g, "version": g.Server("a")} {
		if _, err := mcp.NewClient(h).CallTool(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), "call Gateway.Start of package up first") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	g.Start(t.Context())
	if result, err := mcp.NewClient(g).CallTool(t.Context(), "a__version", nil); err != nil || result.Text() != "1" {
		t.Errorf("after Start: %q, %v", result.Text(), err)
	}
}

func TestANilHandlerPanicsWithItsName(t *testing.T) {
	defer func() {
		if got := recover(); got != `up: InProcess: the handler h of server "a" is nil` {
			t.Errorf("got %v", got)
		}
	}()
	InProcess("a", nil)
}
