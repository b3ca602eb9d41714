package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"reflect"
	"slices"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func ExampleContent() {
	contents := []mcp.Content{
		mcp.Textf("%d picture", 1),
		mcp.Image([]byte("PNG"), "image/png"),
		mcp.Link(mcp.Resource{URI: "file:///disc.png", Name: "disc"}),
		mcp.Embed(mcp.TextContents("notes://1", "text/plain", "a note")),
	}
	for _, c := range contents {
		fmt.Println(c.Type)
	}
	// Output:
	// text
	// image
	// resource_link
	// resource
}

func ExampleAnnotations() {
	text := mcp.Text("for the user only")
	text.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: new(0.5)}
	encoded, _ := json.Marshal(text)
	fmt.Println(string(encoded))
	// Output: {"type":"text","text":"for the user only","annotations":{"audience":["user"],"priority":0.5}}
}

func ExampleCallToolResult() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "search", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content:           []mcp.Content{mcp.Text("3 matches")},
				StructuredContent: json.RawMessage(`{"matches":3}`),
				Meta:              json.RawMessage(`{"example.com/took":"2ms"}`),
			}, nil
		})
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "search", nil)
	fmt.Println(result.Text(), string(result.StructuredContent))
	// Output: 3 matches {"matches":3}
}

func ExampleToolAnnotations() {
	hints := &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	fmt.Println(hints.ReadsOnly(), (*mcp.ToolAnnotations)(nil).ReadsOnly())
	// Output: true false
}

func ExampleToolHandler() {
	ctx, c := client(func(s *mcp.Server) {
		var count mcp.ToolHandler = func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			var given map[string]json.RawMessage
			err := json.Unmarshal(arguments, &given)
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Textf("%d arguments", len(given))}}, err
		}
		s.AddTool(mcp.Tool{Name: "count"}, count)
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "count", map[string]int{"a": 1, "b": 2})
	fmt.Println(result.Text())
	// Output: 2 arguments
}

// Arguments that the struct lacks are checked with the written schema.
func ExampleTool_moreArguments() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddToolWith(s, mcp.Tool{Name: "find", MoreArguments: true, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"query":{"type":"string"},"org":{"type":"integer","default":1}}}`)},
			func(ctx context.Context, in struct {
				Query string `json:"query"`
			}) (string, error) {
				return in.Query + " of " + string(mcp.RequestFrom(ctx).Arguments), nil
			})
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "find", map[string]string{"query": "logs"})
	fmt.Println(result.Text())
	// Output: logs of {"query":"logs","org":1}
}

func ExampleTypeSchemas() {
	types := mcp.TypeSchemas{reflect.TypeFor[big.Int](): json.RawMessage(`{"type":"integer"}`)}
	fmt.Println(string(mcp.SchemaWith[struct {
		N *big.Int `json:"n"`
	}](types)))
	// Output: {"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"additionalProperties":false}
}

func ExampleCodecOf() {
	pages := mcp.CodecOf(json.RawMessage(`{"type":"string","format":"uri"}`),
		func(u url.URL) (json.RawMessage, error) { return json.Marshal(u.String()) },
		func(text json.RawMessage) (url.URL, error) {
			var s string
			if err := json.Unmarshal(text, &s); err != nil {
				return url.URL{}, err
			}
			u, err := url.Parse(s)
			if err != nil {
				return url.URL{}, err
			}
			return *u, nil
		})
	s := mcp.NewServerWith("fetch", "1.0", mcp.ServerOptions{TypeCodecs: []mcp.TypeCodec{pages}})
	mcp.AddTool(s, "host", func(_ context.Context, in struct {
		Page url.URL `json:"page"`
	}) (string, error) {
		return in.Page.Host, nil
	})
	c := mcp.NewClient(s)
	defer c.Close()
	result, _ := c.CallTool(context.Background(), "host", map[string]string{"page": "https://example.com/a"})
	fmt.Println(result.Text())
	// Output: example.com
}

func ExampleServer_Batch() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "draft", forecast)
		s.Batch(func() { // clients see both changes at once
			s.RemoveTool("draft")
			mcp.AddTool(s, "final", forecast)
		})
	})
	defer c.Close()
	for tool := range c.Tools(ctx) {
		fmt.Println(tool.Name)
	}
	// Output: final
}

func ExamplePrompt() {
	ctx, c := client(func(s *mcp.Server) {
		prompt := mcp.Prompt{Name: "review", Title: "Review code", Arguments: []mcp.PromptArgument{{Name: "language", Required: true}}}
		s.AddPrompt(prompt, promptNothing)
	})
	defer c.Close()
	for p := range c.Prompts(ctx) {
		fmt.Println(p.Title, p.Arguments[0].Name)
	}
	// Output: Review code language
}

func ExamplePromptHandler() {
	ctx, c := client(func(s *mcp.Server) {
		var review mcp.PromptHandler = func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			text := mcp.Text("Review this " + arguments["language"] + " code.")
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: text}}}, nil
		}
		s.AddPrompt(mcp.Prompt{Name: "review", Arguments: []mcp.PromptArgument{{Name: "language"}}}, review)
	})
	defer c.Close()
	result, _ := c.GetPrompt(ctx, "review", map[string]string{"language": "Go"})
	fmt.Println(result.Messages[0].Role, result.Messages[0].Content.Text)
	// Output: user Review this Go code.
}

func ExampleResource() {
	ctx, c := client(func(s *mcp.Server) {
		s.AddText(mcp.Resource{URI: "notes://1", Name: "note", Title: "A note", MIMEType: "text/plain"}, "Hello")
	})
	defer c.Close()
	for r := range c.Resources(ctx) {
		fmt.Println(r.URI, r.Title, r.MIMEType)
	}
	// Output: notes://1 A note text/plain
}

func ExampleResourceContents() {
	fmt.Println(mcp.TextContents("notes://1", "text/plain", "Hello").Text)
	fmt.Println(len(mcp.BlobContents("images://1", "image/png", []byte("PNG")).Blob))
	// Output:
	// Hello
	// 3
}

func ExampleResourceTemplate() {
	ctx, c := client(func(s *mcp.Server) {
		template := mcp.ResourceTemplate{URITemplate: "notes://{title}", Name: "notes"}
		s.AddResourceTemplate(template, func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "", v["title"])}}, nil
		})
	})
	defer c.Close()
	for t := range c.ResourceTemplates(ctx) {
		fmt.Println(t.URITemplate)
	}
	// Output: notes://{title}
}

func ExampleCompleter() {
	ctx, c := client(func(s *mcp.Server) {
		var branches mcp.Completer = func(_ context.Context, req mcp.CompletionRequest) (*mcp.Completion, error) {
			known := map[string][]string{"junction": {"main", "maintenance"}}
			return &mcp.Completion{Values: known[req.Context.Arguments["repository"]]}, nil
		}
		s.AddPrompt(mcp.Prompt{Name: "diff", Arguments: []mcp.PromptArgument{{Name: "repository"}, {Name: "branch"}}}, promptNothing)
		s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "diff"}, branches)
	})
	defer c.Close()
	completion, _ := c.Complete(ctx, mcp.CompletionRequest{
		Ref:      mcp.CompletionReference{Type: mcp.RefPrompt, Name: "diff"},
		Argument: mcp.CompletionArgument{Name: "branch", Value: "ma"},
		Context:  &mcp.CompletionContext{Arguments: map[string]string{"repository": "junction"}},
	})
	fmt.Println(completion.Values)
	// Output: [main maintenance]
}

func ExampleCreateMessageRequest() {
	model := mcp.ClientOptions{OnSample: func(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		fmt.Println(req.SystemPrompt, req.ModelPreferences.Hints[0].Name)
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{mcp.Text("Hei")}}, nil
	}}
	say(model, func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcp.Sample(ctx, mcp.CreateMessageRequest{
			SystemPrompt:     "Translate to Norwegian.",
			MaxTokens:        100,
			ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}, SpeedPriority: new(1.0)},
			Messages:         []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("Hello")}}},
		})
		if err != nil {
			return "", err
		}
		return answer.Content[0].Text, nil
	})
	// Output:
	// Translate to Norwegian. small
	// Hei
}

func ExampleClientOptions() {
	c, err := mcp.DialWith(context.Background(), stream.Pipe(mcp.NewServer("example", "1.0")), mcp.ClientOptions{
		Info:      mcp.Implementation{Name: "desk", Version: "2.0"},
		Name:      "the example",
		OnElicit:  func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil },
		KeepAlive: 0, // a duration pings the server, and loses the connection of one that does not respond
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Name(), c.Server().Name)
	// Output: the example example
}

func ExampleClient() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	c, err := mcp.Dial(context.Background(), stream.Pipe(s)) // or command.New("weather"), streamable.Client("https://…")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	result, err := c.CallTool(context.Background(), "forecast", trip{City: "Oslo", Days: 2})
	fmt.Println(result.Text(), err)
	// Output: {"highs":[0,0]} <nil>
}

func ExampleTransport() {
	transports := map[string]mcp.Transport{"memory": stream.Pipe(mcp.NewServer("example", "1.0")), "socket": stream.Dial("unix", "/run/mcp.sock")}
	for _, name := range slices.Sorted(maps.Keys(transports)) {
		fmt.Println(name, "-", transports[name])
	}
	// Output:
	// memory - a server in this process
	// socket - unix:/run/mcp.sock
}

func ExampleServeOptions() {
	s := mcp.NewServer("example", "1.0")
	c, err := mcp.Dial(context.Background(), stream.PipeWith(s, mcp.ServeOptions{MaxInFlight: 8, MaxMessage: 1 << 20}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(c.Ping(context.Background()))
	// Output: <nil>
}

func ExampleServerCapabilities() {
	s := mcp.NewServerWith("index", "1.0", mcp.ServerOptions{Capabilities: mcp.ServerCapabilities{
		Tools:      &mcp.ListCapability{},
		Extensions: map[string]json.RawMessage{"com.example/index": json.RawMessage(`{}`)},
	}})
	c := mcp.NewClient(s)
	defer c.Close()
	fmt.Println(c.Capabilities().Tools != nil, len(c.Capabilities().Extensions))
	// Output: true 1
}

func ExampleSubscriptionFilter() {
	offered := mcp.ServerCapabilities{Tools: &mcp.ListCapability{ListChanged: true}}
	agreed := mcp.AllLists().OfferedBy(&offered)
	fmt.Println(agreed.Lists())
	// Output: [notifications/tools/list_changed]
}

func ExampleLogLevel() {
	fmt.Println(mcp.LogWarning.Severity() > mcp.LogInfo.Severity(), mcp.LogLevel("loud").Severity())
	// Output: true 0
}
