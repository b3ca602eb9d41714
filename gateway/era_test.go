package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// asker returns a server of both eras whose tools send requests in one of them only. In the other
// era they fail with the text, as an error of the protocol or as a result.
func asker(legacy bool, text string, asError bool) *mcp.Server {
	s := mcp.NewServer("asker", "1")
	ask := func(ctx context.Context, _ struct{}) (string, error) {
		if (mcp.RequestFrom(ctx).Meta.Revision != "2026-07-28") != legacy {
			if asError {
				return "", mcp.Errorf(mcp.CodeInvalidRequest, "%s", text)
			}
			return "", errors.New(text)
		}
		got, err := mcp.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "name?")
		if err != nil {
			return "", err
		}
		return "you are " + got.Name, nil
	}
	mcp.AddTool(s, "ask", ask)
	mcp.AddToolWith(s, mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, ask)
	return s
}

const (
	pythonSDK = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
	fastMCP   = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."
	noRounds  = "the multi-round-trip result type only exists at MCP 2026-07-28; use ctx.elicit()"
)

func TestTheEraInWhichAServerCanAskIsUsed(t *testing.T) {
	for _, test := range []struct {
		name     string
		server   *mcp.Server
		options  gateway.Options
		upstream gateway.Upstream
		revision string
		tool     string
		first    string // the result of the first call
	}{
		{"one legacy client", asker(true, fastMCP, false), gateway.Options{OneClient: true}, gateway.Upstream{Program: true}, "2025-11-25", "ask", "you are bob"},
		{"one modern client", asker(true, fastMCP, false), gateway.Options{OneClient: true}, gateway.Upstream{}, "2026-07-28", "ask", "repeat the call"},
		{"one legacy client of a server that asks between rounds", asker(false, noRounds, false), gateway.Options{OneClient: true}, gateway.Upstream{Program: true}, "2025-06-18", "ask", "repeat the call"},
		{"a legacy client of many", asker(true, pythonSDK, true), gateway.Options{}, gateway.Upstream{Program: true}, "2025-06-18", "ask", "repeat the call"},
		{"a modern client of many", asker(true, pythonSDK, true), gateway.Options{}, gateway.Upstream{Program: true}, "2026-07-28", "ask", "repeat the call"},
		{"a tool that only reads", asker(true, pythonSDK, true), gateway.Options{}, gateway.Upstream{}, "2025-11-25", "look", "you are bob"},
		{"one legacy client of a server that is no program", asker(true, fastMCP, false), gateway.Options{OneClient: true}, gateway.Upstream{}, "2025-11-25", "ask", "repeat the call"},
		{"a legacy client with an instance", asker(true, fastMCP, false), gateway.Options{}, gateway.Upstream{Program: true, Isolation: gateway.PerClient}, "2025-11-25", "ask", "you are bob"},
		{"a modern client with an instance", asker(true, fastMCP, false), gateway.Options{}, gateway.Upstream{Isolation: gateway.PerClient}, "2026-07-28", "ask", "repeat the call"},
		{"a tool that only reads, with an instance", asker(true, fastMCP, false), gateway.Options{}, gateway.Upstream{Isolation: gateway.PerClient}, "2026-07-28", "look", "you are bob"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, err := definitions.Open(t.TempDir())
				must(t, err)
				memory := store.Entry(definitions.Origin{Command: "asker"})
				test.options.NoPrefix, test.options.Logger = true, quiet
				g := gateway.New(test.options)
				defer g.Close()
				u := test.upstream
				u.Memory = memory
				u.Dial = func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
					return mcp.DialWith(ctx, stream.Pipe(test.server), mcp.ClientOptions{Name: "asker", LegacyFirst: start.LegacyFirst(), Bridge: true, OneClient: start.Client(), Logger: quiet})
				}
				must(t, g.Add("asker", u))
				c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: test.revision, Logger: quiet,
					OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"bob"}`)}, nil
					}})
				must(t, err)
				defer c.Close()
				for _, err := range c.Tools(t.Context()) { // until they are known, no call is repeated
					must(t, err)
				}
				for i, want := range []string{test.first, "you are bob", "you are bob"} {
					got := ""
					result, err := c.CallTool(t.Context(), test.tool, nil)
					if err != nil {
						got = err.Error()
					} else {
						got = result.Content[len(result.Content)-1].Text
					}
					if !strings.Contains(got, want) {
						t.Errorf("call %d: got %q, want %q", i+1, got, want)
					}
				}
				if test.first == "repeat the call" {
					want := definitions.Legacy
					if strings.Contains(test.name, "between rounds") {
						want = definitions.Modern
					}
					if d := memory.Load(); d == nil || d.Era != want {
						t.Errorf("remembered: %+v, want the era %s", d, want)
					}
				}
			})
		})
	}
}

// A running call is not ended for the other era: the connection changes when no call runs.
func TestTheEraChangesWhenNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := asker(true, fastMCP, false)
		release := make(chan struct{})
		mcp.AddTool(s, "long", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-release:
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
		defer g.Close()
		must(t, g.Add("asker", gateway.Upstream{Dial: func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
			return mcp.DialWith(ctx, stream.Pipe(s), mcp.ClientOptions{Name: "asker", LegacyFirst: start.LegacyFirst(), Bridge: true, Logger: quiet})
		}}))
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Logger: quiet,
			OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"bob"}`)}, nil
			}})
		must(t, err)
		defer c.Close()
		ended := make(chan string, 1)
		go func() {
			text, err := mcp.Call[string](t.Context(), c, "long", nil)
			if err != nil {
				text = err.Error()
			}
			ended <- text
		}()
		synctest.Wait()
		for range 2 {
			if result, err := c.CallTool(t.Context(), "ask", nil); err != nil || !result.IsError {
				t.Errorf("got %+v, %v", result, err)
			}
		}
		close(release)
		if got := <-ended; got != "done" {
			t.Errorf("the call that ran: %s", got)
		}
		if text, err := mcp.Call[string](t.Context(), c, "ask", nil); err != nil || text != "you are bob" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// A member with one revision only is not connected to again, and the error promises no change.
func TestMemberWithOneRevisionIsNotRestarted(t *testing.T) {
	for _, isolation := range []gateway.Isolation{gateway.Shared, gateway.PerClient} {
		g := gateway.New(gateway.Options{NoPrefix: true, Logger: quiet})
		defer g.Close()
		dialled := 0
		must(t, g.Add("asker", gateway.Upstream{Isolation: isolation, Dial: func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
			dialled++
			return mcp.DialWith(ctx, stream.Pipe(asker(true, fastMCP, false)), mcp.ClientOptions{Name: "asker", Revision: "2026-07-28", LegacyFirst: start.LegacyFirst(), Bridge: true, Logger: quiet})
		}}))
		must(t, g.Settle(t.Context()))
		c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Logger: quiet,
			OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"bob"}`)}, nil
			}})
		must(t, err)
		defer c.Close()
		before := 0
		for _, tool := range []string{"ask", "look", "ask", "look"} {
			result, err := c.CallTool(t.Context(), tool, nil)
			must(t, err)
			if got := result.Text(); got != fastMCP {
				t.Errorf("isolation %v, %s: got %q", isolation, tool, got)
			}
			if before == 0 {
				before = dialled
			}
		}
		if dialled != before {
			t.Errorf("isolation %v: connected to %d times, and %d times before", isolation, dialled, before)
		}
	}
}
