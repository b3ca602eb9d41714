package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func TestASessionEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ended := mcp.NewServer("s", "1"), false
		var session *mcp.Session
		mcp.AddTool(s, "begin", func(ctx context.Context, _ struct{}) (string, error) {
			session = mcp.RequestFrom(ctx).Session
			context.AfterFunc(session.Context(), func() { ended = true })
			return "", nil
		})
		c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Revision: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "begin", nil); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); ended || session.Context().Err() != nil {
			t.Error("it ended before its connection")
		}
		c.Close()
		if synctest.Wait(); !ended {
			t.Error("it did not end with its connection")
		}
	})
	late := new(mcp.Session)
	late.End()
	if late.Context().Err() == nil || (*mcp.Session)(nil).Context().Err() != nil {
		t.Error("a session that ended before is not done, or none is")
	}
}

func TestBusyErrors(t *testing.T) {
	for message, busy := range map[string]bool{"too many requests at once: at most 1024": true, "too many requests at once": true, "too many requests at once or twice": false, "": false} {
		if err := fmt.Errorf("x: %w", &mcp.Error{Code: mcp.CodeInternalError, Message: message, Server: "s"}); errors.Is(err, mcp.ErrBusy) != busy {
			t.Errorf("%q", message)
		}
	}
	release := make(chan struct{})
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "wait", func(context.Context, struct{}) (string, error) { <-release; return "", nil })
	c, err := mcp.Dial(t.Context(), stream.Pipe(s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	results := make(chan error)
	const calls = 1_100
	for range calls {
		go func() { _, err := c.CallTool(t.Context(), "wait", nil); results <- err }()
	}
	for range calls - 1_024 {
		if err := <-results; !errors.Is(err, mcp.ErrBusy) {
			t.Error(err)
		}
	}
	close(release)
	for range 1_024 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestWithArgumentsKeepsTheRest(t *testing.T) {
	req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"a","arguments":{"x":1},"_meta":{"m":1}}`)).Renamed("b")
	got := req.WithArguments(json.RawMessage(`{"x":2}`))
	if got.Name != "b" || got.SentName() != "a" || string(got.Arguments) != `{"x":2}` || strings.Count(string(got.Params), "arguments") != 1 || !strings.Contains(string(got.Params), `"_meta":{"m":1}`) {
		t.Errorf("%+v, params %s", got, got.Params)
	}
	if string(req.Arguments) != `{"x":1}` {
		t.Error("the request was changed")
	}
	if got := mcp.NewRequest("tools/call", nil).WithArguments(json.RawMessage(`{}`)); string(got.Params) != `{"arguments":{}}` {
		t.Errorf("params %s", got.Params)
	}
}

func TestLogHandlerSendsRecords(t *testing.T) {
	s := mcp.NewServer("s", "1")
	log := slog.New(mcp.LogHandler(""))
	log.Info("to no client")
	mcp.AddTool(s, "x", func(ctx context.Context, _ struct{}) (string, error) {
		with := log.With("a", 1).WithGroup("g").With("b", []int{2})
		with.ErrorContext(ctx, "m", "c", "d", "c", "again", slog.Group("h", "level", "kept"), "bad", "\xff")
		log.InfoContext(ctx, "less")
		log.Error("without the context")
		return fmt.Sprint(log.Enabled(ctx, slog.LevelInfo), log.Enabled(ctx, slog.LevelWarn), log.Enabled(context.Background(), slog.LevelError)), nil
	})
	var got []string
	c := mcp.NewClientWith(s, mcp.ClientOptions{LogLevel: mcp.LogWarning, OnLog: func(m mcp.LogMessage) {
		got = append(got, string(m.Level)+m.Logger+" "+string(m.Data))
	}})
	enabled, err := mcp.Call[string](t.Context(), c, "x", nil)
	want := `error {"a":1,"g":{"b":[2],"bad":"` + "\ufffd" + `","c":"again","h":{"level":"kept"}},"msg":"m"}`
	if err != nil || enabled != "false true false" || len(got) != 1 || got[0] != want {
		t.Errorf("%s, %v\n got %q\nwant %q", enabled, err, got, want)
	}
}

func TestASessionIsUsedOnceItHasSomething(t *testing.T) {
	for name, use := range map[string]func(s *mcp.Session){
		"a value":   func(s *mcp.Session) { s.SetValue("key", 1) },
		"a context": func(s *mcp.Session) { s.Context() },
	} {
		var s mcp.Session
		if s.Value("key"); s.Used() {
			t.Errorf("%s: it is used before", name)
		}
		if use(&s); !s.Used() {
			t.Errorf("%s: it is not used", name)
		}
		s.End()
	}
}
