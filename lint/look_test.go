package lint

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

type forecastInput struct {
	City string `json:"city" doc:"in English"`
}

func TestLookCallsReadingToolsWithoutArguments(t *testing.T) {
	s := mcp.NewServer("s", "1")
	var called []string
	add := func(name string, a *mcp.ToolAnnotations) {
		mcp.AddToolWith(s, mcp.Tool{Name: name, Description: "It " + name + ".", Annotations: a}, func(context.Context, struct{}) (string, error) {
			called = append(called, name)
			return "done", nil
		})
	}
	add("reads", &mcp.ToolAnnotations{ReadOnlyHint: new(true)})
	add("writes", &mcp.ToolAnnotations{ReadOnlyHint: new(false)})
	add("silent", nil)
	mcp.AddToolWith(s, mcp.Tool{Name: "asks", Description: "Needs a city.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(_ context.Context, in forecastInput) (string, error) {
		called = append(called, "asks "+in.City)
		return "done", nil
	})
	look := func(o Options) *Seen {
		t.Helper()
		called = nil
		seen, err := Look(t.Context(), mcp.NewClient(s), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen.Tools) != 4 || len(seen.Unread) != 0 {
			t.Errorf("%d tools, unread %v", len(seen.Tools), seen.Unread)
		}
		return seen
	}
	if look(Options{}); !slices.Equal(called, []string{"reads"}) {
		t.Errorf("called %q", called)
	}
	if look(Options{NoCalls: true}); len(called) != 0 {
		t.Errorf("called %q", called)
	}
	seen := look(Options{NoCalls: true, Calls: []Call{{Tool: "writes"}, {Tool: "asks", Arguments: json.RawMessage(`{"city":"Oslo"}`)}}})
	if !slices.Equal(called, []string{"writes", "asks Oslo"}) {
		t.Errorf("called %q", called)
	}
	if len(seen.Calls) != 2 || seen.Calls[0].Err != nil || !strings.Contains(string(seen.Calls[1].Result), "done") {
		t.Errorf("%+v", seen.Calls)
	}
	if found := Check(seen); len(found) != 0 {
		t.Errorf("%q", found)
	}
}

func TestToolsWithArgumentsAreNotHarmless(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object"}`: true,
		`{"type":"object","properties":{"a":{}},"required":[]}`: true,
		`{"type":"object","required":["a"]}`:                    false,
		`{"type":"object","anyOf":[{"required":["a"]}]}`:        false,
		`{"type":"object","minProperties":1}`:                   false,
		`{"$ref":"#/$defs/A"}`:                                  false,
		`7`:                                                     false,
	} {
		tool := `{"name":"t","annotations":{"readOnlyHint":true},"inputSchema":` + schema + `}`
		if got := IsHarmless(json.RawMessage(tool)); got != want {
			t.Errorf("%s: %t", schema, got)
		}
		if IsHarmless(json.RawMessage(strings.Replace(tool, "true", `"true"`, 1))) {
			t.Errorf("%s: a text is taken for true", schema)
		}
	}
}

// rude is a server of 2025-11-25 that announces more than it has, and breaks rules on the way.
func rude(conn net.Conn) {
	defer conn.Close()
	fmt.Fprintln(conn, `{"level":30}`)
	fmt.Fprintln(conn, "rude server is up")
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	results := map[string]string{
		"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"rude","version":"1"}}`,
		"tools/list":     `{"tools":[{"name":"now","description":"Tells the time.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"now":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`,
		"resources/list": `{"resources":[{"uri":"a://b"}]}`,
		"tools/call":     `{"content":[],"structuredContent":{"now":7}}`,
	}
	in := bufio.NewScanner(conn)
	for in.Scan() {
		m, fault := jsonrpc.Parse(slices.Clone(in.Bytes()), jsonrpc.Limits{})
		switch {
		case fault != nil || m.Kind != jsonrpc.Request:
		case results[m.Method] != "":
			fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":%s}\n", m.ID, results[m.Method])
		default:
			code := mcp.CodeMethodNotFound
			if m.Method == "prompts/list" && strings.Contains(string(in.Bytes()), "prompts") {
				code = mcp.CodeInternalError
			}
			fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"no\"}}\n", m.ID, code)
		}
	}
}

func TestBreachesOnTheWireAreFound(t *testing.T) {
	here, there := net.Pipe()
	ended := make(chan struct{})
	go func() { defer close(ended); rude(there) }()
	var logged strings.Builder
	breaches := new(Breaches)
	log := breaches.Logger(slog.New(slog.NewTextHandler(&logged, nil)))
	c, err := mcp.DialWith(t.Context(), stream.OverWith(here, "rude", stream.ClientOptions{Logger: log}), mcp.ClientOptions{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := Look(t.Context(), c, Options{Breaches: breaches})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil && err != io.EOF {
		t.Error(err)
	}
	<-ended
	var got []string
	for _, f := range Check(seen) {
		if f.Rule != Protocol || f.Kind != OfServer {
			got = append(got, f.String())
			continue
		}
		got = append(got, f.What)
	}
	want := []string{
		`the server wrote something that is not a message; it was skipped, line {"level":30}, why expected "jsonrpc":"2.0", found no member "jsonrpc"; 1 more like it`,
		"a request came before the handshake was over, method roots/list",
		`a member that is missing where it can only have one value, tolerance missing-member, where resources/list: resources[0].name`,
		`an id as a string where the request has a number, or the reverse, tolerance other-id, where initialize; 3 more like it`,
		`error: tool now, result.structuredContent: it does not fit the output schema: now: expected string, got 7 (output)`,
		"warning: tool now, result.content: it is empty, though there is structured content, which many hosts do not show to models (output)",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(seen.Unread) != 1 || !strings.Contains(seen.Unread[0].Error(), "prompts/list") && !strings.Contains(seen.Unread[0].Error(), "no") {
		t.Errorf("unread: %v", seen.Unread)
	}
	if logged.Len() > 0 {
		t.Errorf("the next logger got what is below its level: %s", &logged)
	}
}

func TestMissingCapabilitiesAreFound(t *testing.T) {
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "server/discover" {
			return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{},"resources":{}}}`)}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "unknown")
	})
	seen, err := Look(t.Context(), mcp.NewClient(h), Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := Check(seen)
	if len(found) != 2 || found[0].What != "it announces prompts, but does not know prompts/list" || found[1].What != "it announces resources, but does not know resources/list" {
		t.Errorf("%q", found)
	}
}

func TestAWireKeepsEachBreachOnceAndNotTooMany(t *testing.T) {
	breaches := new(Breaches)
	log := breaches.Logger(nil).With("a", 1).WithGroup("g")
	log.Debug("mcp: nothing")
	for range 2 {
		log.Debug("mcp: it shouted", "server", "s", "word", "hey", mcp.LogBreach, "whisper")
	}
	if got := breaches.All(); len(got) != 1 || got[0] != (Breach{"it shouted, word hey", "whisper"}) {
		t.Errorf("%+v", got)
	}
	for _, word := range []string{"ho", "he"} {
		log.Debug("mcp: it shouted", "server", "s", "word", word, mcp.LogBreach, "whisper")
	}
	if got := breaches.All(); len(got) != 1 || got[0] != (Breach{"it shouted, word hey; 2 more like it", "whisper"}) {
		t.Errorf("%+v", got)
	}
	for i := range 2 * maxBreaches {
		log.Debug(fmt.Sprintf("mcp: it shouted %d times", i), mcp.LogBreach, "whisper")
	}
	if n := len(breaches.All()); n != maxBreaches {
		t.Errorf("%d breaches", n)
	}
	if (*Breaches)(nil).All() != nil {
		t.Error("nobody heard something")
	}
}

// A method to which a server does not respond costs its time once, and the rest is looked at, unless it is the list of tools.
func TestLookAtMuteMethod(t *testing.T) {
	s := mcp.NewServer("s", "1")
	for _, name := range []string{"a", "b", "c"} {
		mcp.AddToolWith(s, mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	s.AddPrompt(mcp.Prompt{Name: "p"}, func(context.Context, map[string]string) (*mcp.GetPromptResult, error) { return nil, nil })
	s.AddResource(mcp.Resource{URI: "a:b", Name: "r"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) { return nil, nil })
	slow := func(req *mcp.Request) bool { return req.Name == "a" }
	for _, test := range []struct {
		method               string
		mute                 func(*mcp.Request) bool
		took                 time.Duration
		failed               bool
		unread, calls, found int
	}{
		{"nothing", nil, 0, false, 0, 3, 2},
		{"tools/list", nil, time.Minute, true, 0, 0, 0},
		{"prompts/list", nil, time.Minute, false, 1, 3, 1},
		{"resources/list", nil, time.Minute, false, 1, 3, 1},
		{"resources/templates/list", nil, time.Minute, false, 1, 3, 2},
		{"tools/call", nil, callTime + callTime/5, false, 0, 2, 2},
		{"tools/call", slow, callTime, false, 0, 3, 2},
	} {
		t.Run(test.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method == test.method && (test.mute == nil || test.mute(req)) {
						<-ctx.Done()
						return mcp.Result{}, context.Cause(ctx)
					}
					return s.Handle(ctx, req)
				}), mcp.ClientOptions{Timeout: time.Minute})
				defer c.Close()
				began := time.Now()
				seen, err := Look(t.Context(), c, Options{})
				if took := time.Since(began); took != test.took || test.failed != errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("after %v, want %v: %v", took, test.took, err)
				}
				if err != nil {
					return
				}
				if found := len(seen.Prompts) + len(seen.Resources); len(seen.Unread) != test.unread || len(seen.Calls) != test.calls || found != test.found {
					t.Errorf("unread %v, %d calls, %d prompts and resources", seen.Unread, len(seen.Calls), found)
				}
			})
		})
	}
}
