package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// clientWays lists the ways to connect to a server of this process.
var clientWays = map[string]func(*testing.T, mcp.Handler, mcp.ClientOptions) *mcp.Client{
	"in process": func(_ *testing.T, h mcp.Handler, o mcp.ClientOptions) *mcp.Client { return mcp.NewClientWith(h, o) },
	"legacy":     dialing("2025-06-18"),
	"modern":     dialing("2026-07-28"),
}

func dialing(revision string) func(*testing.T, mcp.Handler, mcp.ClientOptions) *mcp.Client {
	return func(t *testing.T, h mcp.Handler, o mcp.ClientOptions) *mcp.Client {
		o.Revision = revision
		c, err := mcp.DialWith(t.Context(), stream.Pipe(h), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestAnErrorOfAnotherServerIsAFailureOfTheTool(t *testing.T) {
	behind := mcp.NewServer("behind", "1")
	mcp.AddTool(behind, "there", func(context.Context, struct{}) (string, error) { return "", nil })
	for way, connect := range clientWays {
		t.Run(way, func(t *testing.T) {
			c := connect(t, behind, mcp.ClientOptions{Name: "tickets"})
			defer c.Close()
			front := mcp.NewServer("front", "1")
			call := func(ctx context.Context) error { _, err := c.CallTool(ctx, "gone", nil); return err }
			for name, f := range map[string]func(context.Context) error{
				"bare":    call,
				"wrapped": func(ctx context.Context) error { return fmt.Errorf("out of order: %w", call(ctx)) },
				"joined":  func(ctx context.Context) error { return errors.Join(errors.New("out of order"), call(ctx)) },
				"own": func(context.Context) error {
					return fmt.Errorf("in words: %w", mcp.Errorf(mcp.CodeInvalidParams, "mine"))
				},
			} {
				mcp.AddTool(front, name, func(ctx context.Context, _ struct{}) (string, error) { return "", f(ctx) })
				_ = front.SetTool(mcp.Tool{Name: "raw-" + name}, func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) { return nil, f(ctx) })
			}
			client := connect(t, front, mcp.ClientOptions{Name: "front"})
			defer client.Close()
			for _, kind := range []string{"", "raw-"} {
				for _, name := range []string{"bare", "wrapped", "joined"} {
					result, err := client.CallTool(t.Context(), kind+name, nil)
					if err != nil || !result.IsError || !strings.Contains(result.Text(), `server "tickets": unknown tool "gone"`) || strings.Contains(result.Text(), "out of order") != (name != "bare") {
						t.Errorf("%s%s: %v, %v", kind, name, result.Text(), err)
					}
				}
				var e *mcp.Error
				if _, err := client.CallTool(t.Context(), kind+"own", nil); !errors.As(err, &e) || e.Code != mcp.CodeInvalidParams || e.Server != "front" {
					t.Errorf("%sown: %v", kind, err)
				}
			}
			// A Client as a Handler passes the server's error on.
			relayed := connect(t, c, mcp.ClientOptions{Name: "relay"})
			defer relayed.Close()
			var e *mcp.Error
			if _, err := relayed.CallTool(t.Context(), "gone", nil); !errors.As(err, &e) || e.Code != mcp.CodeInvalidParams || !strings.HasPrefix(e.Message, `unknown tool "gone"`) {
				t.Errorf("relayed: %v", err)
			}
			if _, err := c.ReadResource(t.Context(), "a://b"); !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
				t.Errorf("a resource of a server without any: %v", err)
			}
		})
	}
}

func TestErrorsInProcessKeepTheirChain(t *testing.T) {
	refusing := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{}, fmt.Errorf("not you: %w", &mcp.ScopeError{Needs: []string{"admin"}})
	})
	_, err := mcp.NewClientWith(refusing, mcp.ClientOptions{Name: "s"}).CallTool(t.Context(), "x", nil)
	var scope *mcp.ScopeError
	var e *mcp.Error
	if !errors.As(err, &scope) || !errors.As(err, &e) || e.Server != "s" || !strings.HasPrefix(err.Error(), "not you: ") {
		t.Errorf("%v", err)
	}
}

func TestErrorsNameTheServerAndTheRequestOnce(t *testing.T) {
	for way, connect := range clientWays {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer("s", "1")
				mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })
				c := connect(t, s, mcp.ClientOptions{Name: "S"})
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				call := func(ctx context.Context) error { _, err := c.CallTool(ctx, "wait", nil); return err }
				listen := func(ctx context.Context) error {
					return c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) {})
				}
				check := func(what string, err, is error, want string) {
					if t.Helper(); !errors.Is(err, is) || err.Error() != want {
						t.Errorf("%s: %v\nwant %s", what, err, want)
					}
				}
				check("deadline of a subscription", listen(short), context.DeadlineExceeded, `server "S": subscriptions/listen: context deadline exceeded`)
				check("call that is over already", call(short), context.DeadlineExceeded, `server "S": tools/call "wait": context deadline exceeded`)
				called, listened := make(chan error), make(chan error)
				go func() { called <- call(t.Context()) }()
				go func() { listened <- listen(t.Context()) }()
				synctest.Wait()
				c.Close()
				closed := "the connection was closed on this side"
				check("call during Close", <-called, mcp.ErrClosed, `server "S": tools/call "wait": `+closed)
				check("subscription during Close", <-listened, mcp.ErrClosed, `server "S": subscriptions/listen: `+closed)
				check("call after Close", call(t.Context()), mcp.ErrClosed, `server "S": tools/call "wait": `+closed)
			})
		})
	}
}

func TestACallWhoseContextIsDoneDoesNotRunInProcess(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "x", func(context.Context, struct{}) (string, error) { t.Error("it runs"); return "", nil })
	c := mcp.NewClient(s)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if _, err := c.CallTool(ctx, "x", nil); !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.Handle(ctx, mcp.NewRequest("tools/call", json.RawMessage(`{"name":"x"}`))); !errors.Is(err, reason) {
		t.Error(err)
	}
}

func TestAClientInProcessSpeaksNoRevision(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "x", func(context.Context, struct{}) (string, error) { return "", nil })
	for revision, refused := range map[string]bool{"": false, "2026-07-28": false, "2025-06-18": true, "1999-01-01": true} {
		_, err := mcp.NewClientWith(s, mcp.ClientOptions{Revision: revision}).CallTool(t.Context(), "x", nil)
		var e *mcp.RevisionError
		if errors.As(err, &e) != refused || refused && (e.Revision != revision || !strings.Contains(err.Error(), "use DialWith with stream.Pipe")) {
			t.Errorf("%q: %v", revision, err)
		}
	}
}

func TestErrorsOfCallbacksAreAlikeInEveryEra(t *testing.T) {
	failure := errors.New("no terminal")
	options := func(log *bytes.Buffer) mcp.ClientOptions {
		return mcp.ClientOptions{
			Logger:   slog.New(slog.NewTextHandler(log, nil)),
			OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, failure },
			OnSample: func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { return nil, failure },
			OnRoots:  func(context.Context) ([]mcp.Root, error) { return nil, failure },
		}
	}
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "OnElicit", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Elicit[struct{ N int }](ctx, "n")
		if errors.Is(err, mcp.ErrDismissed) {
			return "dismissed", nil
		}
		return "", err
	})
	mcp.AddTool(s, "OnSample", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 1})
		return "", err
	})
	mcp.AddTool(s, "OnRoots", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Roots(ctx)
		return "", err
	})
	for way, connect := range clientWays {
		for _, callback := range []string{"OnElicit", "OnSample", "OnRoots"} {
			var log bytes.Buffer
			c := connect(t, s, options(&log))
			result, err := c.CallTool(t.Context(), callback, nil)
			c.Close()
			said := result.Text()
			if err != nil {
				said = err.Error()
			}
			want := failure.Error()
			if callback == "OnElicit" {
				want = "dismissed"
			}
			if !strings.Contains(said, want) {
				t.Errorf("%s: %s: %s", way, callback, said)
			}
			if strings.Count(log.String(), `error="no terminal"`) != 1 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "callback="+callback) {
				t.Errorf("%s: %s: log %s", way, callback, &log)
			}
		}
	}
}

// A result of OnElicit that cannot be sent is a mistake of the client's program. The server gets the
// same result over every connection, and the log names the mistake.
func TestMalformedResultsOfOnElicitAreLoggedAndDismissed(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		form, err := mcp.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "your name")
		if errors.Is(err, mcp.ErrDismissed) {
			return "dismissed", nil
		}
		return form.Name, err
	})
	for _, test := range []struct {
		result mcp.ElicitResult
		want   []string // in the log; nil if the result is sent
	}{
		{mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"ada"}`)}, nil},
		{mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":7}`)}, []string{"OnElicit: Content does not fit the form", "name"}},
		{mcp.ElicitResult{Action: mcp.ElicitAccept}, []string{"OnElicit: Content does not fit the form", "name"}},
		{mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`ada`)}, []string{"OnElicit: Content does not fit the form"}},
		{mcp.ElicitResult{Action: "yes", Content: json.RawMessage(`{"name":"ada"}`)}, []string{"OnElicit: Action: expected", "yes"}},
		{mcp.ElicitResult{}, []string{"OnElicit: Action: expected"}},
	} {
		for way, connect := range clientWays {
			var log bytes.Buffer
			c := connect(t, s, mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &test.result, nil
			}})
			said, err := mcp.Call[string](t.Context(), c, "ask", nil)
			c.Close()
			want := "ada"
			if test.want != nil {
				want = "dismissed"
			}
			if err != nil || said != want {
				t.Errorf("%s: %s: %q, %v; want %q", way, test.result.Action, said, err, want)
			}
			if got := strings.Count(log.String(), "level=ERROR"); got != min(1, len(test.want)) {
				t.Errorf("%s: %+v: %d errors in the log %s", way, test.result, got, &log)
			}
			for _, want := range test.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%s: %+v: log %s; want %q", way, test.result, &log, want)
				}
			}
		}
	}
}

// A subscription that the server agrees to in no part would otherwise wait for ever.
func TestListenEndsIfTheServerAgreesToNothing(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "t", func(context.Context, struct{}) (string, error) { return "", nil })
	for way, connect := range clientWays {
		for _, filter := range []mcp.SubscriptionFilter{
			{ResourceSubscriptions: []string{"file:///unknown"}},
			{ResourceSubscriptions: []string{"file:///unknown"}, PromptsListChanged: true},
		} {
			c := connect(t, s, mcp.ClientOptions{})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			err := c.Listen(ctx, filter, func(mcp.Notification) {})
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "none of the notifications") {
				t.Errorf("%s: %+v: %v", way, filter, err)
			}
			cancel()
			c.Close()
		}
	}
}

// A server that does not respond is slow or broken; its revision is unknown.
func TestASilentServerIsADeadlineErrorAtEveryRevision(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }() // ends when near is closed
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := mcp.DialWith(ctx, stream.Over(near, "silent"), mcp.ClientOptions{Revision: revision})
		cancel()
		near.Close()
		var refused *mcp.RevisionError
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) {
			t.Errorf("%s: %v", revision, err)
		}
	}
}

func TestElicitationsThatSayNothingAreNotSent(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	for _, test := range []struct {
		req  mcp.ElicitRequest
		want string // empty if it is sent
	}{
		{mcp.ElicitRequest{Message: "m", RequestedSchema: form}, ""},
		{mcp.ElicitRequest{Mode: mcp.ElicitForm, Message: "m"}, ""},
		{mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "m", URL: "https://example.com/a"}, ""},
		{mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "m"}, `elicitation: mode "url" needs the URL of a page, got ""`},
		{mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "m", URL: "/a"}, `needs the URL of a page, got "/a"`},
		{mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "m", URL: "https://example.com", RequestedSchema: form}, "has no form"},
		{mcp.ElicitRequest{Message: "m", URL: "https://example.com"}, `a form has no URL: set Mode to "url"`},
		{mcp.ElicitRequest{Mode: "page", Message: "m"}, `mode: expected "form" or "url", got "page"`},
		{mcp.ElicitRequest{Message: "m", RequestedSchema: json.RawMessage(`{"type":`)}, "requested schema: schema is not valid JSON"},
		{mcp.ElicitRequest{Message: "m", RequestedSchema: json.RawMessage(`{"properties":{"a":{"type":"object"}}}`)}, "a form holds strings, numbers, booleans and choices"},
	} {
		s, asked := mcp.NewServer("s", "1"), false
		mcp.AddTool(s, "x", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcp.ElicitRaw(ctx, test.req)
			return "", err
		})
		c := mcp.NewClientWith(s, mcp.ClientOptions{ElicitURL: true, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = true
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}})
		result, err := c.CallTool(t.Context(), "x", nil)
		if err != nil || asked != (test.want == "") || result.IsError == asked || !strings.Contains(result.Text(), test.want) {
			t.Errorf("%+v: asked %v: %v, %v", test.req, asked, result.Text(), err)
		}
	}
}
