package develop

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/cases"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/recording"
)

// testTargets returns a function that finds the server for a case file. The function may be called
// concurrently. It resolves each configured server only once, so that warnings about it appear only
// once.
func testTargets(a *cli.App) func(ctx context.Context, s cases.Server, dir string) (*cases.Target, error) {
	var turn sync.Mutex
	configured := map[string]launch.Target{}
	return func(ctx context.Context, s cases.Server, dir string) (*cases.Target, error) {
		turn.Lock()
		defer turn.Unlock()
		t, known := configured[s.Name]
		if !known {
			var err error
			if t, err = testServer(ctx, a, s); err != nil {
				return nil, err
			}
			if t.Server != nil {
				configured[s.Name] = t
			}
		}
		kind := cases.Stdio
		switch c, isCommand := t.Transport.(*command.Command); {
		case isCommand && (t.Server == nil || t.Server.Dir == ""):
			own := *c
			own.Dir, t.Transport = dir, &own
		case isCommand:
		case t.By != nil:
			kind = t.By.Name
		}
		return &cases.Target{Transport: t.Transport, Kind: kind, Options: a.Launch.Options(t)}, nil
	}
}

// testServer returns the target for a server in a case file: a recording, a command, or a
// configured server.
func testServer(ctx context.Context, a *cli.App, s cases.Server) (launch.Target, error) {
	switch {
	case s.Recording != "":
		r, err := serveReplay(a, s.Recording, recording.ReplayOptions{Server: s.Recorded})
		if err != nil {
			return launch.Target{}, fmt.Errorf("%s: %w", s.Recording, err)
		}
		h := tasks.Wait(tasks.WaitOptions{})(r)
		return launch.Target{Name: "recording", Transport: stream.PipeWith(h, mcp.ServeOptions{Logger: a.Logger()})}, nil
	case len(s.Command) > 0:
		t, err := a.Launch.Command(s.Command[0], s.Command[1:])
		if c, isCommand := t.Transport.(*command.Command); isCommand {
			for name, value := range s.Env {
				c.Env = append(slices.Clone(c.Env), name+"="+value)
			}
		}
		return t, err
	}
	return reach.ServerTarget(ctx, a, s.Name)
}
