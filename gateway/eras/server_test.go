package eras_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// The errors of libraries whose tools ask in one era only.
const (
	pythonSDK = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
	fastMCP   = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."
	noRounds  = "the multi-round-trip result type only exists at MCP 2026-07-28; use ctx.elicit()"
)

// asker returns a server of both eras that asks in one of them only. In the other era its requests
// fail with the text, as an error of the protocol or as a result.
func asker(era, text string, asError bool) *mcp.Server {
	s := mcp.NewServer("asker", "1")
	name := func(ctx context.Context) (string, error) {
		if eras.Of(&mcp.RequestFrom(ctx).Meta) != era {
			if asError {
				return "", mcp.Errorf(mcp.CodeInvalidRequest, "%s", text)
			}
			return "", errors.New(text)
		}
		got, err := mcp.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "name?")
		return "you are " + got.Name, err
	}
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) { return name(ctx) })
	mcp.AddToolWith(s, mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(ctx context.Context, _ struct{}) (string, error) { return name(ctx) })
	mcp.AddTool(s, "era", func(ctx context.Context, _ struct{}) (string, error) { return eras.Of(&mcp.RequestFrom(ctx).Meta), nil })
	return s
}

// A legacy connection that cannot be changed, or whose server keeps a large state, reports the failure, too.
func TestInputRequestsOfALegacySessionAreErrors(t *testing.T) {
	for _, revision := range []string{"", "2025-11-25"} {
		s := eras.New(t.Context(), eras.Options{Logger: slog.New(slog.DiscardHandler), Revision: revision,
			Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
				return mcp.DialWith(ctx, stream.Pipe(questioner()), mcp.ClientOptions{Bridge: true, Revision: revision, Logger: slog.New(slog.DiscardHandler), LegacyFirst: era != definitions.Modern})
			}})
		if result, err := asked(t, s, "2026-07-28").CallTool(t.Context(), "ask", nil); err == nil || !strings.Contains(err.Error(), "inputRequests") {
			t.Errorf("with revision %q: %v, %v", revision, result, err)
		}
		s.Close()
	}
}

// questioner returns a server of both eras that sends input requests as the result of a legacy call.
func questioner() mcp.Handler {
	s := asker(definitions.Modern, "", false)
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" && eras.Of(&req.Meta) == definitions.Legacy {
			return mcp.Result{JSON: json.RawMessage(`{"content":[],"inputRequests":{"name":{"method":"elicitation/create","params":{"message":"name?"}}},"requestState":"` + strings.Repeat("x", 5_000) + `"}`)}, nil
		}
		return s.Handle(ctx, req)
	})
}

// asked returns a client that answers as bob.
func asked(t *testing.T, h mcp.Handler, revision string) *mcp.Client {
	t.Helper()
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision, Logger: slog.New(slog.DiscardHandler),
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"bob"}`)}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// text returns the last text of a call, or its error.
func text(t *testing.T, c *mcp.Client, tool string) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, nil)
	if err != nil {
		return err.Error()
	}
	return result.Content[len(result.Content)-1].Text
}

func TestServerIsAskedInTheEraInWhichItCanAsk(t *testing.T) {
	for _, server := range []struct {
		name, era, text string
		asError         bool
	}{
		{"a session and a result", definitions.Legacy, fastMCP, false},
		{"a session and an error", definitions.Legacy, pythonSDK, true},
		{"rounds", definitions.Modern, noRounds, false},
		{"input requests as a result", definitions.Modern, "", false},
	} {
		for _, way := range []string{"pipe", "http"} {
			for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
				for _, tool := range []string{"ask", "look"} {
					t.Run(fmt.Sprint(server.name, " ", way, " ", revision, " ", tool), func(t *testing.T) {
						var h mcp.Handler = asker(server.era, server.text, server.asError)
						if server.text == "" {
							h = questioner()
						}
						to := stream.Pipe(h)
						if way == "http" {
							endpoint := streamable.Handler(h)
							site := httptest.NewServer(endpoint)
							defer site.Close()
							defer endpoint.Close()
							to = streamable.Client(site.URL)
						}
						var dialled []string
						s := eras.New(t.Context(), eras.Options{Logger: slog.New(slog.DiscardHandler), Program: way == "pipe",
							Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
								dialled = append(dialled, era)
								// The first connection has the wrong era.
								return mcp.DialWith(ctx, to, mcp.ClientOptions{Bridge: true, Logger: slog.New(slog.DiscardHandler),
									LegacyFirst: era == definitions.Legacy || era == "" && server.era == definitions.Modern})
							}})
						defer s.Close()
						c := asked(t, s, revision)
						if tool == "ask" {
							result, err := c.CallTool(t.Context(), tool, nil)
							if err == nil && result.IsError {
								err = errors.New(result.Content[len(result.Content)-1].Text)
							}
							if err == nil || !strings.Contains(err.Error(), eras.CallAgain) {
								t.Errorf("the first call: %v, %v", result, err)
							}
						}
						for range 2 {
							if got := text(t, c, tool); got != "you are bob" {
								t.Errorf("got %q", got)
							}
						}
						if want := []string{"", server.era}; !slices.Equal(dialled, want) {
							t.Errorf("connected to in %q, want %q", dialled, want)
						}
					})
				}
			}
		}
	}
}

// A running call is not ended for the other era, and a subscription continues over the new
// connection.
func TestEraChangesWhenNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := asker(definitions.Legacy, fastMCP, false)
		release := make(chan struct{})
		mcp.AddTool(h, "long", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-release:
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		var lost []error
		s := eras.New(t.Context(), eras.Options{Logger: slog.New(slog.DiscardHandler),
			Lost: func(_ *mcp.Client, err error) { lost = append(lost, err) },
			Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
				return mcp.DialWith(ctx, stream.Pipe(h), mcp.ClientOptions{Bridge: true, Logger: slog.New(slog.DiscardHandler), LegacyFirst: era == definitions.Legacy})
			}})
		c := asked(t, s, "2026-07-28")
		var listed atomic.Int64
		watching, cancel := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for tools, err := range c.WatchTools(watching) {
				if err == nil {
					listed.Store(int64(len(tools)))
				}
			}
		}()
		ended := make(chan string, 1)
		go func() { ended <- text(t, c, "long") }()
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
		if got := text(t, c, "ask"); got != "you are bob" {
			t.Errorf("got %q", got)
		}
		synctest.Wait()
		before := listed.Load()
		mcp.AddTool(h, "another", func(context.Context, struct{}) (string, error) { return "", nil })
		synctest.Wait()
		if after := listed.Load(); before != 4 || after != 5 {
			t.Errorf("%d tools are listed, then %d; want 4, then 5", before, after)
		}
		cancel()
		<-watched
		c.Close()
		s.Close()
		if len(lost) != 0 {
			t.Errorf("lost: %v", lost)
		}
	})
}

func TestServerThatCannotBeConnectedTo(t *testing.T) {
	fault := errors.New("no such program")
	var lost []error
	s := eras.New(t.Context(), eras.Options{
		Lost: func(_ *mcp.Client, err error) { lost = append(lost, err) },
		Dial: func(context.Context, *mcp.Request, string) (*mcp.Client, error) { return nil, fault },
	})
	_, err := s.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
	s.Close()
	if _, closed := s.Handle(t.Context(), mcp.NewRequest("tools/list", nil)); err != fault || len(lost) != 1 || lost[0] != fault || closed != mcp.ErrClosed {
		t.Errorf("got %v, %v after the end, lost %v", err, closed, lost)
	}
}

// A request that panics does not count as running for ever, so that the era can change.
func TestRequestThatPanicsEnds(t *testing.T) {
	h := asker(definitions.Legacy, fastMCP, false)
	var dialled []string
	panics := true
	s := eras.New(t.Context(), eras.Options{Logger: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
			dialled = append(dialled, era)
			faulty := func(next mcp.Handler) mcp.Handler {
				return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == "tools/call" && panics {
						panics = false
						panic("a fault of the middleware")
					}
					return next.Handle(ctx, req)
				})
			}
			return mcp.DialWith(ctx, stream.Pipe(h), mcp.ClientOptions{Bridge: true, Logger: slog.New(slog.DiscardHandler), LegacyFirst: era == definitions.Legacy, Middleware: []mcp.Middleware{faulty}})
		}})
	defer s.Close()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic does not pass")
			}
		}()
		_, _ = s.Handle(t.Context(), mcp.NewRequest("tools/call", []byte(`{"name":"era"}`)))
	}()
	c := asked(t, s, "2026-07-28")
	if got := text(t, c, "look"); got != "you are bob" {
		t.Errorf("got %q", got)
	}
	if want := []string{"", definitions.Legacy}; !slices.Equal(dialled, want) {
		t.Errorf("connected to in %q, want %q", dialled, want)
	}
}
