package mcp_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// login returns a server whose tool needs a page that the user has visited after the first call.
func login(runs *atomic.Int32, succeeds int32) *mcp.Server {
	s := mcp.NewServer("mail", "1")
	mcp.AddTool(s, "inbox", func(context.Context, struct{}) (string, error) {
		if runs.Add(1) < succeeds {
			return "", &mcp.ElicitationRequiredError{Message: "log in first", Elicitations: []mcp.ElicitRequest{
				{Message: "Log in to the mail server", URL: "https://mail.example/login", ElicitationID: "login-1"},
			}}
		}
		return "3 messages", nil
	})
	return s
}

func TestRequiredPagesReachEveryClient(t *testing.T) {
	const address = "https://mail.example/login"
	for _, tt := range []struct {
		name     string
		revision string
		action   string // of a client that shows pages
		succeeds int32
		want     string // of the result
		isError  bool
		typed    bool // the error is an ElicitationRequiredError
		runs     int32
	}{
		{name: "modern", revision: modern, action: mcp.ElicitAccept, succeeds: 2, want: "3 messages", runs: 2},
		{name: "modern, declined", revision: modern, action: mcp.ElicitDecline, succeeds: 3, want: "log in first: visit " + address + ", then call again (the user declined)", isError: true, runs: 2},
		{name: "modern, dismissed", revision: modern, action: mcp.ElicitCancel, succeeds: 3, want: "without a choice", isError: true, runs: 2},
		{name: "modern, agreed and not done", revision: modern, action: mcp.ElicitAccept, succeeds: 9, want: "log in first: visit " + address + ", then call again", isError: true, runs: 2},
		{name: "modern without pages", revision: modern, succeeds: 9, want: "log in first: visit " + address, isError: true, runs: 1},
		{name: "legacy", revision: newestLegacy, action: mcp.ElicitAccept, succeeds: 2, want: "3 messages", runs: 2},
		{name: "legacy, declined", revision: newestLegacy, action: mcp.ElicitDecline, succeeds: 9, typed: true, runs: 1},
		{name: "legacy without pages", revision: newestLegacy, succeeds: 9, want: "log in first: visit " + address, isError: true, runs: 1},
		{name: "older", revision: "2025-06-18", succeeds: 9, want: "log in first: visit " + address, isError: true, runs: 1},
		{name: "in process", action: mcp.ElicitAccept, succeeds: 9, typed: true, runs: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var runs atomic.Int32
			var o mcp.ClientOptions
			if tt.action != "" {
				o.ElicitURL = true
				o.OnElicit = func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if req.Mode != mcp.ElicitURL || req.URL != address {
						t.Errorf("asked for %+v", req)
					}
					return &mcp.ElicitResult{Action: tt.action}, nil
				}
			}
			s := login(&runs, tt.succeeds)
			c := mcp.NewClientWith(s, o)
			if tt.revision != "" {
				c = connected(t, stream.Pipe(s), o, tt.revision)
			}
			defer c.Close()
			result, err := c.CallTool(t.Context(), "inbox", nil)
			var required *mcp.ElicitationRequiredError
			if tt.typed {
				if !errors.As(err, &required) || len(required.Elicitations) != 1 || required.Elicitations[0].URL != address || required.Message != "log in first" {
					t.Fatalf("the error is %v", err)
				}
				if !errors.Is(err, &mcp.Error{Code: mcp.CodeURLElicitationRequired}) {
					t.Errorf("the code of %v is wrong", err)
				}
			} else if err != nil || result.IsError != tt.isError || !strings.Contains(result.Text(), tt.want) {
				t.Errorf("the result is %+v, %v", result, err)
			}
			if runs.Load() != tt.runs {
				t.Errorf("the tool ran %d times, expected %d", runs.Load(), tt.runs)
			}
		})
	}
}

// A client that declares pages in a revision without them gets a code that the revision has.
func TestRequiredPagesOfOlderRevisionsHaveAnInternalError(t *testing.T) {
	var runs atomic.Int32
	o := mcp.ClientOptions{Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: &struct{}{}}}}
	_, err := connected(t, stream.Pipe(login(&runs, 9)), o, "2025-06-18").CallTool(t.Context(), "inbox", nil)
	if !errors.Is(err, &mcp.Error{Code: mcp.CodeInternalError}) {
		t.Errorf("the error is %v", err)
	}
}

// A tool that calls another server does not pass on its pages as its own.
func TestRequiredPagesOfAnotherServerAreAToolError(t *testing.T) {
	var runs atomic.Int32
	behind := mcp.NewClientWith(login(&runs, 9), mcp.ClientOptions{ElicitURL: true, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }})
	front := mcp.NewServer("front", "1")
	mcp.AddTool(front, "inbox", func(ctx context.Context, _ struct{}) (*mcp.CallToolResult, error) {
		return behind.CallTool(ctx, "inbox", nil)
	})
	result, err := mcp.NewClient(front).CallTool(t.Context(), "inbox", nil)
	if err != nil || !result.IsError || !strings.Contains(result.Text(), "log in first") {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

func TestCompletedElicitationsReachTheClient(t *testing.T) {
	for _, tt := range []struct {
		name   string
		over   func(t *testing.T, h mcp.Handler) mcp.Transport
		within bool // during the call
		modern bool
	}{
		{name: "stream, during the call", over: overStream, within: true},
		{name: "stream, after the call", over: overStream},
		{name: "HTTP, during the call", over: overHTTP, within: true},
		{name: "modern", over: overStream, within: true, modern: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sessions := make(chan *mcp.Session, 1)
			s := mcp.NewServer("mail", "1")
			mcp.AddTool(s, "inbox", func(ctx context.Context, _ struct{}) (string, error) {
				session := mcp.RequestFrom(ctx).Session
				if tt.within {
					return "", session.ElicitComplete(ctx, "login-1")
				}
				sessions <- session
				return "", nil
			})
			ids := make(chan string, 2)
			revision := newestLegacy
			if tt.modern {
				revision = modern
			}
			c := connected(t, tt.over(t, s), mcp.ClientOptions{OnElicitComplete: func(_ context.Context, id string) { ids <- id }}, revision)
			if _, err := c.CallTool(t.Context(), "inbox", nil); err != nil {
				t.Fatal(err)
			}
			if tt.modern {
				if len(ids) != 0 {
					t.Error("a modern client got a notification that its revision lacks")
				}
				return
			}
			if !tt.within {
				session := <-sessions
				if err := session.ElicitComplete(t.Context(), "login-1"); err != nil {
					t.Fatal(err)
				}
			}
			if id := <-ids; id != "login-1" {
				t.Errorf("the id is %q", id)
			}
			if !tt.within {
				c.Close()
			}
		})
	}
}

func overStream(_ *testing.T, h mcp.Handler) mcp.Transport { return stream.Pipe(h) }
