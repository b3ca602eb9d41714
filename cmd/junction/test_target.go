package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cases"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/recording"
)

// testTargets finds the servers that files of cases test. What is said of an entry of a configuration is said once,
// and the configuration is read by one goroutine at a time.
func (a *app) testTargets() func(ctx context.Context, s cases.Server, dir string) (*cases.Target, error) {
	var turn sync.Mutex
	configured := map[string]target{}
	return func(ctx context.Context, s cases.Server, dir string) (*cases.Target, error) {
		turn.Lock()
		defer turn.Unlock()
		t, known := configured[s.Name]
		if !known {
			var err error
			if t, err = a.testServer(ctx, s); err != nil {
				return nil, err
			}
			if t.server != nil {
				configured[s.Name] = t
			}
		}
		kind := cases.Stdio
		switch c, isCommand := t.transport.(*command.Command); {
		case isCommand && c.Dir == "":
			own := *c
			own.Dir, t.transport = dir, &own
		case isCommand:
		case t.server != nil && t.server.Kind == config.SSE:
			kind = cases.SSE
		case t.server != nil && t.server.Kind != config.Stdio, isURL(s.Name) && strings.HasPrefix(s.Name, "http"):
			kind = cases.HTTP // a socket carries the same as standard input and output
		}
		return &cases.Target{Transport: t.transport, Kind: kind, Options: a.options(t)}, nil
	}
}

func (a *app) testServer(ctx context.Context, s cases.Server) (target, error) {
	switch {
	case s.Recording != "":
		r, err := a.replay(s.Recording, recording.ReplayOptions{Server: s.Recorded})
		if err != nil {
			return target{}, fmt.Errorf("%s: %w", s.Recording, err)
		}
		h := tasks.Wait(tasks.WaitOptions{})(r)
		return target{name: "recording", transport: stream.PipeWith(h, mcp.ServeOptions{Logger: a.logger()})}, nil
	case len(s.Command) > 0:
		t, err := a.command(s.Command[0], s.Command[1:])
		if c, isCommand := t.transport.(*command.Command); isCommand {
			for name, value := range s.Env {
				c.Env = append(slices.Clone(c.Env), name+"="+value)
			}
		}
		return t, err
	}
	return a.named(ctx, s.Name)
}
