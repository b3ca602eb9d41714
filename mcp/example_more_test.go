package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// show prints the JSON of a value.
func show(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
}

// handled returns the result of a request without parameters.
func handled(s *mcp.Server, method string) mcp.Result {
	result, err := s.Handle(context.Background(), mcp.NewRequest(method, nil))
	if err != nil {
		fmt.Println(err)
	}
	return result
}

func ExampleCacheScope() {
	s := mcp.NewServerWith("weather", "1.0", mcp.ServerOptions{ListTTL: time.Hour, ListScope: mcp.CachePublic})
	mcp.AddTool(s, "forecast", forecast)
	list := handled(s, "tools/list")
	fmt.Println(list.TTL, list.Scope)
	// Output: 1h0m0s public
}

func ExampleCompletionRequest() {
	show(mcp.CompletionRequest{
		Ref:      mcp.CompletionReference{Type: mcp.RefPrompt, Name: "diff"},
		Argument: mcp.CompletionArgument{Name: "branch", Value: "ma"},
		Context:  &mcp.CompletionContext{Arguments: map[string]string{"repository": "junction"}},
	})
	// Output: {"ref":{"type":"ref/prompt","name":"diff"},"argument":{"name":"branch","value":"ma"},"context":{"arguments":{"repository":"junction"}}}
}

func ExampleCompletion() {
	show(mcp.Completion{Values: []string{"main", "maintenance"}, Total: new(12), HasMore: true})
	// Output: {"values":["main","maintenance"],"total":12,"hasMore":true}
}

func ExampleCompletionReference() {
	show(mcp.CompletionReference{Type: mcp.RefResource, URI: "notes://{title}"})
	// Output: {"type":"ref/resource","uri":"notes://{title}"}
}

func ExampleConn() {
	t := stream.Pipe(mcp.NewServer("example", "1.0"))
	conn, err := t.Connect(context.Background(), mcp.ConnectOptions{Name: "example"}) // Dial does this
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(conn.Revision())
	conn.Close()
	<-conn.Done()
	fmt.Println(conn.Err())
	// Output:
	// 2026-07-28
	// a server in this process: the connection was closed on this side
}

func ExampleDiscoverResult() {
	s := mcp.NewServerWith("weather", "1.0", mcp.ServerOptions{Instructions: "Cities are in English."})
	result := handled(s, "server/discover")
	discovered, err := result.Discover()
	fmt.Println(discovered.SupportedVersions, discovered.Instructions, err)
	// Output: [2026-07-28] Cities are in English. <nil>
}

func ExampleListToolsResult() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	result := handled(s, "tools/list")
	list, err := result.ListTools()
	fmt.Println(len(list.Tools), list.Tools[0].Name, list.NextCursor == "", err)
	// Output: 1 forecast true <nil>
}

func ExampleListResourcesResult() {
	s := mcp.NewServer("notes", "1.0")
	s.AddText(mcp.Resource{URI: "notes://1", Name: "first"}, "Hello")
	result := handled(s, "resources/list")
	list, err := result.ListResources()
	fmt.Println(list.Resources[0].URI, err)
	// Output: notes://1 <nil>
}

func ExampleListPromptsResult() {
	s := mcp.NewServer("prompts", "1.0")
	s.AddPrompt(mcp.Prompt{Name: "review"}, promptNothing)
	result := handled(s, "prompts/list")
	list, err := result.ListPrompts()
	fmt.Println(list.Prompts[0].Name, err)
	// Output: review <nil>
}

func ExampleElicitRequest() {
	show(mcp.ElicitRequest{Message: "Which size?", RequestedSchema: mcp.SchemaOf[struct {
		Size string `json:"size" enum:"small,large"`
	}]()})
	show(mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "Log in", URL: "https://mail.example/login", ElicitationID: "1"})
	// Output:
	// {"message":"Which size?","requestedSchema":{"type":"object","properties":{"size":{"type":"string","enum":["small","large"]}},"required":["size"],"additionalProperties":false}}
	// {"mode":"url","message":"Log in","url":"https://mail.example/login","elicitationId":"1"}
}

func ExampleElicitResult() {
	show(mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)})
	show(mcp.ElicitResult{Action: mcp.ElicitDecline})
	// Output:
	// {"action":"accept","content":{"size":"large"}}
	// {"action":"decline"}
}

func ExampleGetPromptResult() {
	result := mcp.GetPromptResult{Description: "A review", Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Review this.")}}}
	for _, m := range result.Messages {
		fmt.Println(m.Role, m.Content.Text)
	}
	// Output: user Review this.
}

func ExampleImplementation() {
	show(mcp.Implementation{Name: "weather", Version: "1.0", Icons: []mcp.Icon{{Src: "https://example.com/sun.png", MIMEType: "image/png", Sizes: []string{"48x48"}}}})
	// Output: {"name":"weather","version":"1.0","icons":[{"src":"https://example.com/sun.png","mimeType":"image/png","sizes":["48x48"]}]}
}

func ExampleElicitationCapability() {
	show(mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
		Sampling:    &mcp.SamplingCapability{Tools: &struct{}{}},
		Roots:       &mcp.RootsCapability{ListChanged: true},
	})
	// Output: {"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}
}

func ExampleListCapability() {
	show(mcp.ServerCapabilities{Tools: &mcp.ListCapability{ListChanged: true}, Resources: &mcp.ResourcesCapability{Subscribe: true}})
	// Output: {"tools":{"listChanged":true},"resources":{"subscribe":true}}
}

func ExampleLogMessage() {
	hear := mcp.ClientOptions{LogLevel: mcp.LogDebug, OnLog: func(m mcp.LogMessage) { fmt.Println(m.Logger, m.Level, string(m.Data)) }}
	say(hear, func(ctx context.Context, _ struct{}) (string, error) {
		return "done", mcp.LogWith(ctx, "disk", mcp.LogDebug, map[string]int{"free": 7})
	})
	// Output:
	// disk debug {"free":7}
	// done
}

func ExampleProgressUpdate() {
	see := mcp.ClientOptions{OnProgress: func(p mcp.ProgressUpdate) { fmt.Printf("%.0f%% %s\n", 100*p.Progress/p.Total, p.Message) }}
	say(see, func(ctx context.Context, _ struct{}) (string, error) {
		return "done", mcp.Progress(ctx, 1, 4, "compiled")
	})
	// Output:
	// 25% compiled
	// done
}

func ExampleNotification() {
	s := mcp.NewServer("notes", "1.0")
	s.AddText(mcp.Resource{URI: "notes://1", Name: "first"}, "Hello")
	c := mcp.NewClient(s)
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{"notes://1"}}
	c.ListenWith(ctx, filter, func(n mcp.Notification) {
		fmt.Println(n.Method, n.URI)
		cancel()
	}, func(mcp.SubscriptionFilter) { s.ResourceUpdated("notes://1") })
	// Output: notifications/resources/updated notes://1
}

func ExampleModelPreferences() {
	show(mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}, SpeedPriority: new(1.0)})
	// Output: {"hints":[{"name":"small"}],"speedPriority":1}
}

func ExampleReadResourceResult() {
	ctx, c := client(func(s *mcp.Server) {
		var clock mcp.ResourceHandler = func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/plain", "noon")}}, nil
		}
		s.AddResource(mcp.Resource{URI: "clock://now", Name: "now"}, clock)
	})
	defer c.Close()
	read, err := c.ReadResource(ctx, "clock://now")
	fmt.Println(read.Contents[0].Text, err)
	// Output: noon <nil>
}

func ExampleSamplingMessage() {
	show(mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("six by nine?")}})
	// Output: {"role":"user","content":{"type":"text","text":"six by nine?"}}
}

// One block is encoded alone, as older revisions have no lists here.
func ExampleSamplingContent() {
	show(mcp.SamplingContent{mcp.Text("a")})
	show(mcp.SamplingContent{mcp.Text("a"), mcp.Text("b")})
	// Output:
	// {"type":"text","text":"a"}
	// [{"type":"text","text":"a"},{"type":"text","text":"b"}]
}

func ExampleToolUse() {
	show(mcp.Content{Type: mcp.ContentToolUse, ToolUse: &mcp.ToolUse{ID: "1", Name: "forecast", Input: json.RawMessage(`{"city":"Oslo"}`)}})
	// Output: {"type":"tool_use","id":"1","name":"forecast","input":{"city":"Oslo"}}
}

func ExampleToolResult() {
	show(mcp.Content{Type: mcp.ContentToolResult, ToolResult: &mcp.ToolResult{ToolUseID: "1", Content: []mcp.Content{mcp.Text("sunny")}}})
	// Output: {"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"sunny"}]}
}

func ExampleToolChoice() {
	show(mcp.ToolChoice{Mode: "required"})
	// Output: {"mode":"required"}
}

func ExampleServerRequest() {
	c := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method != "tools/call" {
			return mcp.Result{}, nil
		}
		roots, err := req.Peer.Ask(ctx, mcp.ServerRequest{Method: "roots/list"}) // mcp.Roots does this
		return mcp.Result{Value: mcp.ToolError("%s", roots)}, err
	}), mcp.ClientOptions{OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///work"}}, nil }})
	defer c.Close()
	result, err := c.CallTool(context.Background(), "roots", nil)
	fmt.Println(result.Text(), err)
	// Output: {"roots":[{"uri":"file:///work"}]} <nil>
}

func ExampleRole() {
	asked := mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Text("six by nine?")}
	answer := mcp.PromptMessage{Role: mcp.RoleAssistant, Content: mcp.Text("42")}
	fmt.Println(asked.Role, answer.Role)
	// Output: user assistant
}

func ExampleStatusError() {
	err := &mcp.StatusError{Method: "POST", URL: "https://weather.example/mcp", Status: 401, Body: "no token"}
	fmt.Println(err)
	// Output: POST https://weather.example/mcp: HTTP status 401: no token
}

func ExampleCompletionArgument() {
	show(mcp.CompletionArgument{Name: "branch", Value: "ma"}) // the text that the user has typed so far
	// Output: {"name":"branch","value":"ma"}
}

func ExamplePromptArgument() {
	show(mcp.PromptArgument{Name: "language", Description: "the programming language", Required: true})
	// Output: {"name":"language","description":"the programming language","required":true}
}

// A note is a detail of a request that its messages do not contain.
type printedNotes struct{}

func (printedNotes) Note(kind string, note any) { fmt.Println(kind, note) }

func ExampleNoteObserver() {
	ctx := mcp.WithNoteObserver(context.Background(), printedNotes{}) // an observer does this
	if n := mcp.NoteObserverOf(ctx, "cache"); n != nil {
		n.Note("cache", "hit")
	}
	// Output: cache hit
}

func ExampleCompletionContext() {
	show(mcp.CompletionContext{Arguments: map[string]string{"repository": "junction"}})
	// Output: {"arguments":{"repository":"junction"}}
}

func ExampleIcon() {
	show(mcp.Icon{Src: "https://example.com/moon.svg", MIMEType: "image/svg+xml", Theme: "dark"})
	// Output: {"src":"https://example.com/moon.svg","mimeType":"image/svg+xml","theme":"dark"}
}

func ExampleModelHint() {
	show([]mcp.ModelHint{{Name: "small"}, {Name: "fast"}}) // the preferred one first
	// Output: [{"name":"small"},{"name":"fast"}]
}

func ExamplePromptMessage() {
	show(mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Text("Review this.")})
	// Output: {"role":"user","content":{"type":"text","text":"Review this."}}
}

func ExampleResourcesCapability() {
	show(mcp.ResourcesCapability{ListChanged: true, Subscribe: true})
	// Output: {"subscribe":true,"listChanged":true}
}

func ExampleListResourceTemplatesResult() {
	s := mcp.NewServer("notes", "1.0")
	s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "notes://{title}", Name: "notes"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ErrResourceNotFound
	})
	result := handled(s, "resources/templates/list")
	list, err := result.ListResourceTemplates()
	fmt.Println(list.ResourceTemplates[0].URITemplate, err)
	// Output: notes://{title} <nil>
}

func ExampleConnectOptions() {
	conn, err := stream.Pipe(mcp.NewServer("example", "1.0")).Connect(context.Background(), mcp.ConnectOptions{Name: "example", Revision: "2025-06-18"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.Revision())
	// Output: 2025-06-18
}

func ExampleRootsCapability() {
	show(mcp.ClientCapabilities{Roots: &mcp.RootsCapability{ListChanged: true}})
	// Output: {"roots":{"listChanged":true}}
}

func ExampleSamplingCapability() {
	show(mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &struct{}{}}})
	// Output: {"sampling":{"tools":{}}}
}

func ExampleResourceHandler() {
	ctx, c := client(func(s *mcp.Server) {
		var note mcp.ResourceHandler = func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ErrResourceNotFound
		}
		s.AddResource(mcp.Resource{URI: "notes://gone", Name: "gone"}, note)
	})
	defer c.Close()
	_, err := c.ReadResource(ctx, "notes://gone")
	fmt.Println(errors.Is(err, mcp.ErrResourceNotFound))
	// Output: true
}

func ExampleWireMessage() {
	m := mcp.WireMessage{ToServer: true, Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Transport: mcp.TransportStream}
	fmt.Println(m.ToServer, string(m.Message))
	// Output: true {"jsonrpc":"2.0","id":1,"method":"ping"}
}
