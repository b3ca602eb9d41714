package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// saying returns a server whose tool returns its version. Its tool held waits for hold.
func saying(version string, hold <-chan struct{}) *mcp.Server {
	s := mcp.NewServerWith("s", version, mcp.ServerOptions{Logger: quiet})
	mcp.AddTool(s, "version", func(context.Context, struct{}) (string, error) { return version, nil })
	mcp.AddTool(s, "held", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-hold:
			return version, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	return s
}

func names(t *testing.T, h mcp.Handler) (all []string) {
	t.Helper()
	for tool, err := range mcp.NewClient(h).Tools(t.Context()) {
		must(t, err)
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return all
}

func TestAMemberIsRemovedAndReplacedWhileOthersGoOn(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	hold := make(chan struct{})
	must(t, g.AddHandler("a", saying("1", hold)))
	must(t, g.AddHandler("b", saying("b", nil)))
	must(t, g.Settle(t.Context()))
	c := mcp.NewClient(g)
	running := make(chan string, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		got, err := mcp.Call[string](t.Context(), c, "a__held", nil)
		running <- got + errText(err)
	}()
	<-started
	if got, err := mcp.Call[string](t.Context(), c, "a__version", nil); err != nil || got != "1" {
		t.Fatalf("%q, %v", got, err)
	}
	replaced := make(chan error, 1)
	go func() { replaced <- g.Replace("a", gateway.Upstream{Handler: saying("2", hold)}) }()
	close(hold) // the running call is finished in either order
	must(t, <-replaced)
	if got := <-running; got != "1" && got != "2" {
		t.Errorf("the call that ran said %q", got)
	}
	must(t, g.Settle(t.Context()))
	if got, err := mcp.Call[string](t.Context(), c, "a__version", nil); err != nil || got != "2" {
		t.Errorf("%q, %v", got, err)
	}
	if all := g.Status(); len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("the order is %v", all)
	}
	must(t, g.Remove(t.Context(), "a"))
	if all := names(t, g); !slices.Equal(all, []string{"b__held", "b__version"}) {
		t.Errorf("offered are %q", all)
	}
	if _, err := mcp.Call[string](t.Context(), c, "a__version", nil); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a removed one: %v", err)
	}
	if got, err := mcp.Call[string](t.Context(), c, "b__version", nil); err != nil || got != "b" {
		t.Errorf("the other one: %q, %v", got, err)
	}
	if err := g.Remove(t.Context(), "a"); err == nil {
		t.Error("it was removed twice")
	}
	must(t, g.AddHandler("a", saying("3", hold)))
	must(t, g.Settle(t.Context()))
	if got, err := mcp.Call[string](t.Context(), c, "a__version", nil); err != nil || got != "3" {
		t.Errorf("%q, %v", got, err)
	}
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestARequestWithoutEndDoesNotKeepItsMember(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, add(g, "a", func(ctx context.Context) (*mcp.Client, error) { return mcp.Dial(ctx, stream.Pipe(saying("1", nil))) }))
	must(t, g.Settle(t.Context()))
	ended := make(chan error, 1)
	go func() {
		_, err := mcp.Call[string](t.Context(), mcp.NewClient(g), "a__held", nil)
		ended <- err
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Remove waits at most for this
	if err := g.Remove(ctx, "a"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it responded")
		}
	case <-time.After(10 * time.Second):
		t.Error("the call goes on")
	}
}

func TestNamesFollowTheOptions(t *testing.T) {
	tests := []struct {
		name    string
		options gateway.Options
		first   gateway.Upstream
		want    []string
		refused string // a name that no member has
	}{
		{"a map gives a tool its public name, without the prefix", gateway.Options{}, gateway.Upstream{Names: map[string]string{"version": "which"}},
			[]string{"a__held", "b__held", "b__version", "which"}, "a__version"},
		{"a prefix of one's own", gateway.Options{}, gateway.Upstream{Prefix: "first"}, []string{"b__held", "b__version", "first__held", "first__version"}, "a__version"},
		{"the prefix of another server gets a suffix", gateway.Options{}, gateway.Upstream{NoPrefix: true, Names: map[string]string{"version": "b__version"}},
			[]string{"b__held", "b__version", "b__version_" + hashed, "held"}, "version"},
		{"priority: the first one has the name", gateway.Options{NoPrefix: true, Conflicts: gateway.First}, gateway.Upstream{}, []string{"held", "version"}, ""},
		{"error: nobody has it", gateway.Options{NoPrefix: true, Conflicts: gateway.Refuse}, gateway.Upstream{Names: map[string]string{"held": "mine"}}, []string{"held", "mine"}, "version"},
		{"a name that models cannot be given gets a suffix", gateway.Options{}, gateway.Upstream{NoPrefix: true, Names: map[string]string{"version": "which one?"}},
			[]string{"b__held", "b__version", "held", "which-one-_" + ofA}, "which one?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.options.Logger = quiet
			g := gateway.New(test.options)
			defer g.Close()
			test.first.Handler = saying("a", nil)
			must(t, g.Add("a", test.first))
			must(t, g.AddHandler("b", saying("b", nil)))
			must(t, g.Settle(t.Context()))
			if got := names(t, g); !slices.Equal(got, test.want) {
				t.Errorf("offered are %q, want %q", got, test.want)
			}
			for _, name := range test.want { // lists and calls use the same table
				if strings.Contains(name, "held") || name == "mine" {
					continue
				}
				if got, err := mcp.Call[string](t.Context(), mcp.NewClient(g), name, nil); err != nil || got == "" {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if test.refused != "" {
				if _, err := mcp.Call[string](t.Context(), mcp.NewClient(g), test.refused, nil); err == nil {
					t.Errorf("%q can be called", test.refused)
				}
			}
			if test.options.Conflicts == gateway.Refuse {
				_, err := mcp.Call[string](t.Context(), mcp.NewClient(g), "version", nil)
				if err == nil || !strings.Contains(err.Error(), `servers "a" and "b" both have it`) {
					t.Errorf("the error is %v", err)
				}
			}
			if said := len(g.Status()[0].Renamed) + len(g.Status()[1].Renamed); said == 0 && len(test.want) < 4 {
				t.Error("what is omitted is not said")
			}
		})
	}
}

// The suffixes in the names of the tool "version": hashed for server b, ofA for server a.
const (
	hashed = "089838cf"
	ofA    = "1177d30c"
)
