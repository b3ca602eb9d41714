package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

type trip struct {
	City string `json:"city" doc:"city name, in English"`
	Days int    `json:"days" min:"1" max:"14" default:"3"`
}

type outlook struct {
	Highs []int `json:"highs"`
}

func forecast(_ context.Context, in trip) (outlook, error) {
	if in.City == "Atlantis" {
		return outlook{}, errors.New("there is no weather in Atlantis")
	}
	return outlook{Highs: make([]int, in.Days)}, nil
}

// client returns the context of a call and a client of a server to which register added features.
func client(register func(*mcp.Server)) (context.Context, *mcp.Client) {
	s := mcp.NewServer("example", "1.0")
	register(s)
	return context.Background(), mcp.NewClient(s)
}

// say runs f as a tool, with a client that has the options o, and prints the tool's text.
func say(o mcp.ClientOptions, f func(ctx context.Context, _ struct{}) (string, error)) {
	s := mcp.NewServer("example", "1.0")
	mcp.AddTool(s, "tool", f)
	c, err := mcp.DialWith(context.Background(), stream.Pipe(s), o)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(context.Background(), "tool", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
}

func ExampleNewServer() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	c := mcp.NewClient(s) // in the same process, as in a test
	defer c.Close()
	fmt.Println(c.Server().Name, c.Capabilities().Tools != nil)
	// Output: weather true
}

func ExampleNewServerWith() {
	s := mcp.NewServerWith("weather", "1.0", mcp.ServerOptions{
		Title:        "Weather",
		Instructions: "Cities are in English.",
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}}, // tools are registered later
	})
	c := mcp.NewClient(s)
	defer c.Close()
	fmt.Println(c.Instructions(), c.Capabilities().Tools != nil)
	// Output: Cities are in English. true
}

func ExampleAddTool() {
	ctx, c := client(func(s *mcp.Server) { mcp.AddTool(s, "forecast", forecast) })
	defer c.Close()
	result, _ := c.CallTool(ctx, "forecast", trip{City: "Oslo", Days: 2})
	fmt.Println(result.Text())
	result, _ = c.CallTool(ctx, "forecast", map[string]any{"City": "Oslo"})
	fmt.Println(result.Text())
	// Output:
	// {"highs":[0,0]}
	// City: unknown member, did you mean "city"?; city: required, missing
}

func ExampleAddToolWith() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddToolWith(s, mcp.Tool{
			Name:        "forecast",
			Title:       "Weather forecast",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)},
		}, forecast)
	})
	defer c.Close()
	for t := range c.Tools(ctx) {
		fmt.Println(t.Name, "-", t.Title, *t.Annotations.ReadOnlyHint)
	}
	// Output: forecast - Weather forecast true
}

func ExampleServer_AddTool() {
	ctx, c := client(func(s *mcp.Server) {
		s.AddTool(mcp.Tool{Name: "echo"}, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(arguments))}}, nil
		})
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "echo", map[string]int{"n": 1})
	fmt.Println(result.Text())
	// Output: {"n":1}
}

func ExampleServer_SetTool() {
	s := mcp.NewServer("example", "1.0")
	err := s.SetTool(mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type":"text"}`)}, nil)
	fmt.Println(err)
	// Output: tool "search": the handler is nil
}

func ExampleAddPrompt() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddPrompt(s, "review", func(_ context.Context, in struct {
			Language string `json:"language" doc:"the programming language"`
		}) (*mcp.GetPromptResult, error) {
			text := mcp.Textf("Review this %s code.", in.Language)
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: text}}}, nil
		})
	})
	defer c.Close()
	p, _ := c.GetPrompt(ctx, "review", map[string]string{"language": "Go"})
	fmt.Println(p.Messages[0].Content.Text)
	// Output: Review this Go code.
}

func ExampleServer_AddText() {
	ctx, c := client(func(s *mcp.Server) {
		s.AddText(mcp.Resource{URI: "notes://welcome", Name: "welcome"}, "Welcome!")
	})
	defer c.Close()
	r, _ := c.ReadResource(ctx, "notes://welcome")
	fmt.Println(r.Contents[0].Text)
	// Output: Welcome!
}

func ExampleServer_AddResource() {
	ctx, c := client(func(s *mcp.Server) {
		visits := 0
		s.AddResource(mcp.Resource{URI: "stats://visits", Name: "visits"}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			visits++
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/plain", fmt.Sprint(visits))}}, nil
		})
	})
	defer c.Close()
	c.ReadResource(ctx, "stats://visits")
	r, _ := c.ReadResource(ctx, "stats://visits")
	fmt.Println(r.Contents[0].Text)
	// Output: 2
}

func ExampleServer_AddResourceTemplate() {
	ctx, c := client(func(s *mcp.Server) {
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "notes://{year}/{title}", Name: "notes"}, func(_ context.Context, uri string, v map[string]string) (*mcp.ReadResourceResult, error) {
			if v["year"] != "2026" {
				return nil, mcp.ErrResourceNotFound
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/plain", "About "+v["title"])}}, nil
		})
	})
	defer c.Close()
	r, _ := c.ReadResource(ctx, "notes://2026/go")
	fmt.Println(r.Contents[0].Text)
	// Output: About go
}

func ExampleServer_AddCompletion() {
	ctx, c := client(func(s *mcp.Server) {
		s.AddPrompt(mcp.Prompt{Name: "review", Arguments: []mcp.PromptArgument{{Name: "language"}}}, promptNothing)
		ref := mcp.CompletionReference{Type: mcp.RefPrompt, Name: "review"}
		s.AddCompletion(ref, mcp.CompleteFrom(map[string][]string{"language": {"Go", "Python"}}))
	})
	defer c.Close()
	completion, _ := c.Complete(ctx, mcp.CompletionRequest{
		Ref:      mcp.CompletionReference{Type: mcp.RefPrompt, Name: "review"},
		Argument: mcp.CompletionArgument{Name: "language", Value: "p"},
	})
	fmt.Println(completion.Values)
	// Output: [Python]
}

func ExampleServer_HandleMethod() {
	ctx, c := client(func(s *mcp.Server) {
		s.HandleMethod("com.example/reindex", func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{Value: map[string]int{"documents": 3}}, nil
		})
	})
	defer c.Close()
	r, _ := c.Do(ctx, "com.example/reindex", nil)
	body, _ := r.Encoded()
	fmt.Println(string(body))
	// Output: {"documents":3}
}

func ExampleElicit() {
	user := mcp.ClientOptions{OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		fmt.Println("the user reads:", req.Message)
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)}, nil
	}}
	say(user, func(ctx context.Context, _ struct{}) (string, error) {
		order, err := mcp.Elicit[struct {
			Size string `json:"size" enum:"small,large"`
		}](ctx, "Which size?")
		if err != nil {
			return "", err // declined, unsupported, or ErrInputRequired
		}
		return "one " + order.Size + " pizza", nil
	})
	// Output:
	// the user reads: Which size?
	// one large pizza
}

func ExampleElicitWith() {
	names := mcp.ClientOptions{OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}}
	say(names, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.ElicitWith[struct{ Name string }](ctx, mcp.ElicitRequest{Message: "Who are you?", Key: "name"})
		if errors.Is(err, mcp.ErrDeclined) {
			return "Hello, whoever you are!", nil
		}
		return "", err
	})
	// Output: Hello, whoever you are!
}

func ExampleSample() {
	model := mcp.ClientOptions{OnSample: func(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{mcp.Text("42")}}, nil
	}}
	say(model, func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcp.Sample(ctx, mcp.CreateMessageRequest{
			MaxTokens: 100,
			Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("six by nine?")}}},
		})
		if err != nil {
			return "", err
		}
		return answer.Content[0].Text, nil
	})
	// Output: 42
}

func ExampleRoots() {
	folders := mcp.ClientOptions{OnRoots: func(context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///home/ada/work"}}, nil
	}}
	say(folders, func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := mcp.Roots(ctx)
		if err != nil {
			return "", err
		}
		return roots[0].URI, nil
	})
	// Output: file:///home/ada/work
}

func ExampleParallel() {
	client := mcp.ClientOptions{
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
		},
		OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///work"}}, nil },
	}
	say(client, func(ctx context.Context, _ struct{}) (string, error) {
		var who struct {
			Name string `json:"name"`
		}
		var roots []mcp.Root
		err := mcp.Parallel(
			func() (err error) {
				who, err = mcp.Elicit[struct {
					Name string `json:"name"`
				}](ctx, "Who are you?")
				return
			},
			func() (err error) { roots, err = mcp.Roots(ctx); return },
		)
		return fmt.Sprint(who.Name, " works in ", len(roots), " folder"), err
	})
	// Output: Ada works in 1 folder
}

func ExampleSaveForNextRound() {
	yes := mcp.ClientOptions{OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}}
	reservations := 0
	say(yes, func(ctx context.Context, _ struct{}) (string, error) {
		var reservation int
		found, err := mcp.LoadFromLastRound(ctx, "reservation", &reservation)
		if err != nil {
			return "", err
		}
		if !found { // the tool runs again with the response: do this once
			reservations++
			reservation = reservations
			if err := mcp.SaveForNextRound(ctx, "reservation", reservation); err != nil {
				return "", err
			}
		}
		if _, err := mcp.Elicit[struct{}](ctx, "Book it?"); err != nil {
			return "", err
		}
		return fmt.Sprint("booked reservation ", reservation, " of ", reservations), nil
	})
	// Output: booked reservation 1 of 1
}

func ExampleProgress() {
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddTool(s, "build", func(ctx context.Context, _ struct{}) (string, error) {
			return "done", mcp.Progress(ctx, 1, 2, "compiled")
		})
	})
	defer c.Close()
	ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { fmt.Println(p.Progress, "of", p.Total, p.Message) })
	text, _ := mcp.Call[string](ctx, c, "build", nil)
	fmt.Println(text)
	// Output:
	// 1 of 2 compiled
	// done
}

func ExampleLog() {
	hear := mcp.ClientOptions{OnLog: func(m mcp.LogMessage) { fmt.Println(m.Level, string(m.Data)) }}
	say(hear, func(ctx context.Context, _ struct{}) (string, error) {
		return "done", mcp.Log(ctx, mcp.LogWarning, "the disk is nearly full")
	})
	// Output:
	// warning "the disk is nearly full"
	// done
}

func ExampleChain() {
	seen := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			fmt.Println(req.Method, req.Name)
			return next.Handle(ctx, req)
		})
	}
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	h := mcp.Chain(s, seen)
	h.Handle(context.Background(), mcp.NewRequest("tools/call", json.RawMessage(`{"name":"forecast","arguments":{"city":"Oslo"}}`)))
	// Output: tools/call forecast
}

func ExampleResult_CallTool() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	r, _ := s.Handle(context.Background(), mcp.NewRequest("tools/call", json.RawMessage(`{"name":"forecast","arguments":{"city":"Atlantis"}}`)))
	called, _ := r.CallTool()
	fmt.Println(called.IsError, called.Text())
	// Output: true there is no weather in Atlantis
}

func ExampleSchemaOf() {
	inferred := mcp.SchemaOf[trip]()
	changed := bytes.Replace(inferred, []byte(`"maximum":14`), []byte(`"maximum":7`), 1)
	ctx, c := client(func(s *mcp.Server) {
		mcp.AddToolWith(s, mcp.Tool{Name: "forecast", InputSchema: changed}, forecast)
	})
	defer c.Close()
	result, _ := c.CallTool(ctx, "forecast", trip{"Oslo", 14})
	fmt.Println(result.IsError)
	// Output: true
}

func ExampleCall() {
	ctx, c := client(func(s *mcp.Server) { mcp.AddTool(s, "forecast", forecast) })
	defer c.Close()
	report, err := mcp.Call[outlook](ctx, c, "forecast", map[string]string{"city": "Oslo"})
	fmt.Println(len(report.Highs), err)
	_, err = mcp.Call[outlook](ctx, c, "forecast", trip{"Atlantis", 1})
	var failure *mcp.ToolFailure
	fmt.Println(errors.As(err, &failure))
	// Output:
	// 3 <nil>
	// true
}
