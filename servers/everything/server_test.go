package everything_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/servers/everything"
)

// modes lists the ways to connect a client to the server. Each feature's test runs in all of them.
var modes = []struct {
	name, revision string
	http           bool
}{
	{"in process", "", false},
	{"modern", "2026-07-28", false},
	{"legacy", "2025-11-25", false},
	{"modern on HTTP", "2026-07-28", true},
	{"legacy on HTTP", "2025-11-25", true},
}

func inEveryMode(t *testing.T, o mcp.ClientOptions, test func(t *testing.T, c *mcp.Client)) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			o := o
			o.Revision = mode.revision
			if mode.revision == "" {
				test(t, mcp.NewClientWith(everything.New(), o))
				return
			}
			test(t, dial(t, mode.http, o))
		})
	}
}

func dial(t *testing.T, overHTTP bool, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	transport := stream.Pipe(everything.New())
	if overHTTP {
		endpoint := streamable.Handler(everything.New())
		server := httptest.NewServer(endpoint)
		t.Cleanup(server.Close)
		t.Cleanup(endpoint.Close)
		transport = streamable.Client(server.URL)
	}
	c, err := mcp.DialWith(t.Context(), transport, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func call(t *testing.T, c *mcp.Client, tool string, arguments any) *mcp.CallToolResult {
	t.Helper()
	if arguments == nil {
		arguments = struct{}{}
	}
	result, err := c.CallTool(t.Context(), tool, arguments)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

// says calls a tool and checks that its result is the text.
func says(t *testing.T, c *mcp.Client, tool string, arguments any, want string) {
	t.Helper()
	if got := call(t, c, tool, arguments); got.IsError || got.Text() != want {
		t.Errorf("%s: got %q (error %v), want %q", tool, got.Text(), got.IsError, want)
	}
}

type values map[string]any

func TestNewIsTheSameEveryTime(t *testing.T) {
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		var lists [2]string
		for i := range lists {
			result, err := everything.New().Handle(t.Context(), mcp.NewRequest(method, nil))
			if err != nil {
				t.Fatal(err)
			}
			data, err := result.Encoded()
			if err != nil {
				t.Fatal(err)
			}
			lists[i] = string(data)
		}
		if lists[0] != lists[1] {
			t.Errorf("%s differs", method)
		}
	}
}

func TestFeaturesAreDescribed(t *testing.T) {
	c := mcp.NewClient(everything.New())
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Title == "" || tool.Description == "" || tool.Annotations == nil || strings.ToLower(tool.Name) != tool.Name || strings.Contains(tool.Name, "_") {
			t.Errorf("tool %q: title %q, description %q", tool.Name, tool.Title, tool.Description)
		}
		var in struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(tool.InputSchema, &in); err != nil {
			t.Fatal(err)
		}
		for name, p := range in.Properties {
			if p.Description == "" {
				t.Errorf("tool %q: argument %q has no description", tool.Name, name)
			}
		}
	}
	if c.Instructions() == "" {
		t.Error("no instructions")
	}
}

func TestPlainTools(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		says(t, c, "echo", values{"message": "grüße 🌍"}, "grüße 🌍")
		says(t, c, "get-nothing", nil, "")
		says(t, c, "pick", values{"region": "eu"}, "Found anything in region eu.")
		says(t, c, "delete", values{"name": "x"}, "Pretended to delete x.")
		says(t, c, "list-primes", values{"below": 12}, "[2,3,5,7,11]")
		if sum := call(t, c, "add", values{"a": 2, "b": 0.5}); string(sum.StructuredContent) != `{"sum":2.5}` || sum.Text() != `{"sum":2.5}` {
			t.Errorf("add: %+v", sum)
		}
		if got := call(t, c, "big-text", values{"size": 1 << 20}); len(got.Text()) != 1<<20 {
			t.Errorf("big-text: %d bytes", len(got.Text()))
		}
		if got := call(t, c, "fail", nil); !got.IsError || !strings.Contains(got.Text(), "always fails") {
			t.Errorf("fail: %+v", got)
		}
		if got := call(t, c, "pick", values{"region": "mars"}); !got.IsError || !strings.Contains(got.Text(), "region") {
			t.Errorf("a wrong argument: %+v", got)
		}
	})
}

func TestListsAreStructuredWhereTheRevisionHasThem(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		want := "[2,3]"
		if strings.Contains(t.Name(), "legacy") {
			want = ""
		}
		if got := call(t, c, "list-primes", values{"below": 4}); string(got.StructuredContent) != want {
			t.Errorf("got %s, want %s", got.StructuredContent, want)
		}
	})
}

func TestContent(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		var kinds []string
		for _, block := range call(t, c, "get-mixed", nil).Content {
			kinds = append(kinds, block.Type)
			switch block.Type {
			case mcp.ContentImage:
				if _, err := png.Decode(bytes.NewReader(block.Data)); err != nil || block.Annotations == nil {
					t.Errorf("picture: %v, annotations %v", err, block.Annotations)
				}
			case mcp.ContentAudio:
				if len(block.Data) != 2044 || !bytes.HasPrefix(block.Data, []byte("RIFF\xf4\x07\x00\x00WAVE")) {
					t.Errorf("sound: %d bytes", len(block.Data))
				}
			case mcp.ContentResource:
				if block.Resource.Text != "This is the text of a resource." {
					t.Errorf("resource: %+v", block.Resource)
				}
			case mcp.ContentResourceLink:
				if block.Link.URI != "everything://text" || *block.Link.Size != 31 {
					t.Errorf("link: %+v", block.Link)
				}
			}
		}
		if got := strings.Join(kinds, " "); got != "text image audio resource resource_link" {
			t.Errorf("kinds: %s", got)
		}
		for tool, kind := range map[string]string{"get-image": "image", "get-audio": "audio", "get-resource": "resource", "get-resource-link": "resource_link"} {
			if got := call(t, c, tool, nil).Content; len(got) != 1 || got[0].Type != kind {
				t.Errorf("%s: %+v", tool, got)
			}
		}
	})
}

func TestProgressAndLogging(t *testing.T) {
	var mu sync.Mutex
	var reported []string
	o := mcp.ClientOptions{
		LogLevel: mcp.LogError,
		OnLog: func(m mcp.LogMessage) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, string(m.Level))
		},
		OnProgress: func(p mcp.ProgressUpdate) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, fmt.Sprintf("%g/%g %s", p.Progress, p.Total, p.Message))
		},
	}
	inEveryMode(t, o, func(t *testing.T, c *mcp.Client) {
		reported = nil
		says(t, c, "count-slowly", values{"steps": 3, "milliseconds": 0}, "Counted to 3.")
		says(t, c, "log", nil, "Wrote eight log messages, from debug to emergency.")
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(reported, ", "); got != "1/3 step 1 of 3, 2/3 step 2 of 3, 3/3 step 3 of 3, error, critical, alert, emergency" {
			t.Errorf("reported %s", got)
		}
	})
}

func TestWaitEndsWhenItIsCancelled(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := mcp.WatchProgress(ctx, func(mcp.ProgressUpdate) { cancel() })
		if result, err := c.CallTool(begun, "wait", values{"milliseconds": 600_000}); err == nil && !result.IsError {
			t.Error("waited to the end")
		}
	})
}

func TestToolsComeAndGoAndResourcesChange(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{NoCache: true}, func(t *testing.T, c *mcp.Client) {
		ctx, stop := context.WithCancel(t.Context())
		notified, listening := make(chan string, 10), make(chan struct{})
		var listener sync.WaitGroup
		listener.Go(func() {
			_ = c.ListenWith(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"everything://counter"}},
				func(n mcp.Notification) { notified <- n.Method + n.URI }, func(mcp.SubscriptionFilter) { close(listening) })

		})
		defer listener.Wait()
		defer stop()
		<-listening
		says(t, c, "toggle-tool", nil, `{"present":true}`)
		if got := <-notified; got != "notifications/tools/list_changed" {
			t.Errorf("notified: %s", got)
		}
		says(t, c, "extra", nil, "The tool extra exists now.")
		says(t, c, "update-resource", nil, `{"counter":1}`)
		if got := <-notified; got != "notifications/resources/updatedeverything://counter" {
			t.Errorf("notified: %s", got)
		}
		if r, err := c.ReadResource(t.Context(), "everything://counter"); err != nil || r.Contents[0].Text != "1" {
			t.Errorf("counter: %+v %v", r, err)
		}
		says(t, c, "toggle-tool", nil, `{"present":false}`)
		if _, err := c.CallTool(t.Context(), "extra", struct{}{}); err == nil {
			t.Error("the tool is still there")
		}
	})
}

func TestResources(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		for uri, want := range map[string]string{
			"everything://text":         "This is the text of a resource.",
			"everything://planets/mars": `{"name":"mars","moons":2}`,
		} {
			if r, err := c.ReadResource(t.Context(), uri); err != nil || r.Contents[0].Text != want || r.Contents[0].URI != uri {
				t.Errorf("%s: %+v %v", uri, r, err)
			}
		}
		if r, err := c.ReadResource(t.Context(), "everything://picture.png"); err != nil || !bytes.HasPrefix(r.Contents[0].Blob, []byte("\x89PNG")) {
			t.Errorf("picture: %v", err)
		}
		if _, err := c.ReadResource(t.Context(), "everything://planets/pluto"); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("pluto: %v", err)
		}
	})
}

func TestPromptsAndCompletion(t *testing.T) {
	inEveryMode(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		for name, kind := range map[string]string{"greeting": "text", "with-resource": "resource", "with-image": "image"} {
			if p, err := c.GetPrompt(t.Context(), name, nil); err != nil || p.Messages[0].Content.Type != kind {
				t.Errorf("%s: %+v %v", name, p, err)
			}
		}
		if p, err := c.GetPrompt(t.Context(), "travel", map[string]string{"country": "Norway", "city": "Oslo"}); err != nil || p.Messages[0].Content.Text != "I want to travel to Oslo, Norway." {
			t.Errorf("travel: %+v %v", p, err)
		}
		if _, err := c.GetPrompt(t.Context(), "travel", nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("a missing argument: %v", err)
		}
		prompt := mcp.CompletionReference{Type: mcp.RefPrompt, Name: "travel"}
		planet := mcp.CompletionReference{Type: mcp.RefResource, URI: "everything://planets/{name}"}
		for _, tt := range []struct {
			ref         mcp.CompletionReference
			name, typed string
			known       map[string]string
			want        []string
		}{
			{prompt, "country", "", nil, []string{"France", "Japan", "Norway"}},
			{prompt, "country", "j", nil, []string{"Japan"}},
			{prompt, "city", "", map[string]string{"country": "France"}, []string{"Lyon", "Marseille", "Paris"}},
			{prompt, "city", "o", map[string]string{"country": "Norway"}, []string{"Oslo"}},
			{prompt, "city", "", nil, nil},
			{planet, "name", "m", nil, []string{"mars", "mercury"}},
		} {
			req := mcp.CompletionRequest{Ref: tt.ref, Argument: mcp.CompletionArgument{Name: tt.name, Value: tt.typed}}
			if tt.known != nil {
				req.Context = &mcp.CompletionContext{Arguments: tt.known}
			}
			if got, err := c.Complete(t.Context(), req); err != nil || !slices.Equal(got.Values, tt.want) {
				t.Errorf("%s %q: %+v %v, want %v", tt.name, tt.typed, got, err, tt.want)
			}
		}
	})
}

func TestOldRevisionsGetKnownMembers(t *testing.T) {
	for revision, audio := range map[string]string{"2025-06-18": "audio", "2025-03-26": "audio", "2024-11-05": "text"} {
		t.Run(revision, func(t *testing.T) {
			c := dial(t, false, mcp.ClientOptions{Revision: revision})
			says(t, c, "add", values{"a": 1, "b": 2}, `{"sum":3}`)
			if got := call(t, c, "get-audio", nil).Content; len(got) != 1 || got[0].Type != audio {
				t.Errorf("get-audio: %+v", got)
			}
			if r, err := c.ReadResource(t.Context(), "everything://planets/mars"); err != nil || len(r.Contents) != 1 {
				t.Errorf("resource: %+v %v", r, err)
			}
			if p, err := c.GetPrompt(t.Context(), "greeting", nil); err != nil || len(p.Messages) != 1 {
				t.Errorf("prompt: %+v %v", p, err)
			}
		})
	}
}
