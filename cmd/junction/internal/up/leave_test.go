package up_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/spf13/pflag"
)

// Removed servers drain in parallel, and no other part of the new configuration waits for that.
func TestReloadDoesNotWaitForRemovedServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clitest.Settle(t)
		clitest.Write(t, map[string]string{"s.json": `{"mcpServers":{}}`})
		a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}})
		a.Launch.Config = []string{"s.json"}
		v := &up.Served{App: a, Gateway: clitest.GatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone, Profiles: map[string]settings.Profile{"p": {}}}), Options: up.Options{Front: up.Front{Flags: up.NewSettingFlags(new(pflag.FlagSet))}}}
		g, plan := v.Gateway.Members(), &uplib.Plan{Layers: v.Gateway.Layers().Plan()}
		for _, name := range []string{"a", "b", "c"} {
			s := mcp.NewServer(name, "1")
			mcp.AddTool(s, "last", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
			plan.Servers = append(plan.Servers, uplib.InProcess(name, s))
		}
		if _, err := v.Gateway.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		v.Start(t.Context(), "")
		for _, s := range plan.Servers {
			go func() {
				_, _ = mcp.NewClientWith(g, mcp.ClientOptions{Timeout: time.Minute}).CallTool(t.Context(), s.Name+"__last", nil)
			}()
		}
		synctest.Wait()
		began := time.Now()
		read := make(chan struct{})
		go func() {
			defer close(read)
			v.Reload(t.Context(), func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}()
		synctest.Wait()
		if v.Profile("p") != nil || len(g.Status()) > 0 {
			t.Errorf("after %v the profile is there: %t, and so are %d servers", time.Since(began), v.Profile("p") != nil, len(g.Status()))
		}
		<-read
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
